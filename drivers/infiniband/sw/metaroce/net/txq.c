// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * How many bytes of a connection the local stack holds.
 *
 * The skbs belong to a sock that is nothing but an account. With the stack's own destructor,
 * sock_wfree(), GSO keeps the account right when it cuts an skb, and an skb that waits in some
 * queueing discipline for ever keeps the account's memory, but neither the module nor a netns.
 * That is why the sock is in init_net: it names nobody, the packets' netns is their route's.
 */
#include <linux/net.h>
#include <linux/slab.h>
#include <linux/security.h>
#include <net/udp.h>

#include "internal.h"

/* Never bound: what its socks are for security modules, and the default callback. */
static struct socket *mroce_txq_model;

static void mroce_txq_write_space(struct sock *sk)
{
	struct mroce_txq *txq;

	rcu_read_lock();
	txq = rcu_dereference_sk_user_data(sk);
	/* the barrier pairs with mroce_txq_wait(): one of the two sees the other */
	smp_mb();
	if (txq && READ_ONCE(txq->waiting) && mroce_txq_bytes(txq) < txq->wake &&
	    xchg(&txq->waiting, false))
		txq->wakeup(txq->arg);
	rcu_read_unlock();
}

struct mroce_txq *mroce_txq_alloc(void (*wakeup)(void *arg), void *arg, u32 wake)
{
	struct mroce_txq *txq = kzalloc(sizeof(*txq), GFP_ATOMIC);
	struct sock *sk;

	if (!txq)
		return NULL;
	sk = sk_alloc(&init_net, AF_INET, GFP_ATOMIC, &udp_prot, 1);
	if (!sk) {
		kfree(txq);
		return NULL;
	}
	sock_init_data(NULL, sk);
	sk->sk_protocol = IPPROTO_UDP;
	security_sk_clone(mroce_txq_model->sk, sk);
	txq->sk = sk;
	txq->wakeup = wakeup;
	txq->arg = arg;
	txq->wake = wake;
	rcu_assign_sk_user_data(sk, txq);
	sk->sk_write_space = mroce_txq_write_space;
	return txq;
}

void mroce_txqs_close(struct mroce_txq **txqs, unsigned int n)
{
	bool any = false;
	unsigned int i;

	for (i = 0; i < n; i++) {
		if (!txqs[i])
			continue;
		any = true;
		WRITE_ONCE(txqs[i]->sk->sk_write_space, mroce_txq_model->sk->sk_write_space);
		rcu_assign_sk_user_data(txqs[i]->sk, NULL);
	}
	if (any)
		synchronize_rcu();
	for (i = 0; i < n; i++) {
		if (!txqs[i])
			continue;
		sock_put(txqs[i]->sk);
		kfree(txqs[i]);
	}
}

bool mroce_txq_wait(struct mroce_txq *txq)
{
	WRITE_ONCE(txq->waiting, true);
	smp_mb();	/* pairs with mroce_txq_write_space() */
	if (mroce_txq_bytes(txq) >= txq->wake)
		return true;
	/* false, unless the wakeup was faster */
	return !xchg(&txq->waiting, false);
}

int mroce_txq_init(void)
{
	return sock_create_kern(&init_net, AF_INET, SOCK_DGRAM, IPPROTO_UDP, &mroce_txq_model);
}

void mroce_txq_exit(void)
{
	sock_release(mroce_txq_model);
	mroce_txq_model = NULL;
	/* an skb may be in the last instructions of mroce_txq_write_space() */
	synchronize_rcu();
}
