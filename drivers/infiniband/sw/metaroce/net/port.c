// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The UDP sockets: when they come and go.
 *
 * The sockets hold no reference on their netns, so a netns ends although links are in it. Then:
 *   pre_exit   the port is dead: no route is found any more, cached ones are taken away (an IPv6
 *              route must not outlive its netns); the core waits for an RCU grace period
 *   exit       the sockets are closed
 *   later      the devices, which went with their netdevs, put the port
 */
#include <linux/filter.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <net/inet_sock.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/netns/generic.h>
#include <net/sock_reuseport.h>
#include <net/udp.h>

#include "internal.h"

#define MROCE_SOCKS_MAX		8	/* per family: a lookup looks at each */
#define MROCE_RCVBUF		(32 << 20)

struct mroce_net_ns {
	struct list_head ports;
};

static unsigned int mroce_net_id;
static DEFINE_MUTEX(mroce_net_mutex);	/* protects all ports lists and users counts */

static void mroce_sock_close(struct mroce_sock *ms)
{
	struct sock *sk = ms->sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	WRITE_ONCE(sk->sk_data_ready, ms->default_data_ready);
	rcu_assign_sk_user_data(sk, NULL);
	write_unlock_bh(&sk->sk_callback_lock);
}

/* Whoever sends is gone, or sees np->dead. */
static void mroce_socks_close(struct mroce_net_port *np)
{
	unsigned int i;

	if (!np->nsocks)	/* went with the netns */
		return;
	for (i = 0; i < np->nsocks; i++)
		mroce_sock_close(&np->socks[i]);
	synchronize_rcu();
	np->sk4 = NULL;
	np->sk6 = NULL;
	for (i = 0; i < np->nsocks; i++) {
		tasklet_kill(&np->socks[i].again);
		sock_release(np->socks[i].sock);
	}
	np->nsocks = 0;
}

/* Packets go to the socket of the CPU that they come in on. */
static int mroce_steer(struct sock *sk, unsigned int nsocks)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, SKF_AD_OFF + SKF_AD_CPU),
		BPF_STMT(BPF_ALU | BPF_MOD | BPF_K, nsocks),
		BPF_STMT(BPF_RET | BPF_A, 0),
	};
	struct sock_fprog_kern fprog = { .len = ARRAY_SIZE(code), .filter = code };
	struct bpf_prog *prog;
	int err;

	err = bpf_prog_create(&prog, &fprog);
	if (err)
		return err;
	err = reuseport_attach_prog(sk, prog);
	if (err)
		bpf_prog_destroy(prog);
	return err;
}

static int mroce_bind(struct socket *sock, u16 family, u16 port)
{
	struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(port) };

	if (family == AF_INET)
		return kernel_bind(sock, (struct sockaddr *)&sin, sizeof(sin));
	return kernel_bind(sock, (struct sockaddr *)&sin6, sizeof(sin6));
}

static int mroce_sock_setup(struct socket *sock, u16 family)
{
	struct sock *sk = sock->sk;
	int one = 1;

	sock_set_reuseport(sk);
	sock_set_rcvbuf(sk, MROCE_RCVBUF / 2);	/* it doubles */
	sk->sk_allocation = GFP_ATOMIC;
#ifdef CONFIG_NET_RX_BUSY_POLL
	WRITE_ONCE(sk->sk_ll_usec, 0);		/* or draining would busy-poll, in softirq */
#endif
	if (family == AF_INET) {
		/* a path MTU that somebody else's ICMP set does not stop our probes */
		ip_sock_set_mtu_discover(sk, IP_PMTUDISC_PROBE);
#if IS_ENABLED(CONFIG_IPV6)
	} else {
		int err = ip6_sock_set_v6only(sk);

		if (err)
			return err;
#endif
	}
	return sock->ops->setsockopt(sock, SOL_UDP, UDP_GRO, KERNEL_SOCKPTR(&one), sizeof(one));
}

static int mroce_sock_open(struct mroce_net_port *np, u16 family)
{
	struct mroce_sock *ms = &np->socks[np->nsocks];
	struct sock *sk;
	int err;

	err = sock_create_kern(np->net, family, SOCK_DGRAM, IPPROTO_UDP, &ms->sock);
	if (err)
		return err;
	sk = ms->sock->sk;
	err = mroce_sock_setup(ms->sock, family);
	if (err)
		goto err_release;

	ms->np = np;
	tasklet_setup(&ms->again, mroce_sock_drain_again);
	write_lock_bh(&sk->sk_callback_lock);
	ms->default_data_ready = sk->sk_data_ready;
	rcu_assign_sk_user_data(sk, ms);
	WRITE_ONCE(sk->sk_data_ready, mroce_sock_data_ready);
	write_unlock_bh(&sk->sk_callback_lock);
	np->nsocks++;

	/* from here on mroce_socks_close() undoes it */
	return mroce_bind(ms->sock, family, np->port);

err_release:
	sock_release(ms->sock);
	return err;
}

static int mroce_family_open(struct mroce_net_port *np, u16 family, unsigned int nsocks)
{
	struct sock *first = NULL;
	unsigned int i;
	int err;

	for (i = 0; i < nsocks; i++) {
		err = mroce_sock_open(np, family);
		if (err)
			return err;
		if (!first)
			first = np->socks[np->nsocks - 1].sock->sk;
	}
	err = mroce_steer(first, nsocks);
	if (err)
		return err;
	if (family == AF_INET)
		np->sk4 = first;
	else
		np->sk6 = first;
	return 0;
}

static struct mroce_net_port *mroce_net_port_create(struct net *net, u16 port)
{
	unsigned int nsocks = min_t(unsigned int, num_possible_cpus(), MROCE_SOCKS_MAX);
	struct mroce_net_port *np;
	int err;

	np = kzalloc(struct_size(np, socks, 2 * nsocks), GFP_KERNEL);
	if (!np)
		return ERR_PTR(-ENOMEM);
	np->net = net;
	np->port = port;
	np->users = 1;
	spin_lock_init(&np->routes_lock);
	INIT_LIST_HEAD(&np->routes);

	err = mroce_family_open(np, AF_INET, nsocks);
	if (!err && IS_ENABLED(CONFIG_IPV6)) {
		err = mroce_family_open(np, AF_INET6, nsocks);
		if (err == -EAFNOSUPPORT)	/* switched off */
			err = 0;
	}
	if (err) {
		mroce_socks_close(np);
		kfree(np);
		return ERR_PTR(err);
	}
	return np;
}

struct mroce_net_port *mroce_net_port_get(struct net *net, u16 port)
{
	struct mroce_net_ns *ns = net_generic(net, mroce_net_id);
	struct mroce_net_port *np;

	mutex_lock(&mroce_net_mutex);
	list_for_each_entry(np, &ns->ports, node) {
		if (np->port == port) {
			np->users++;
			goto out;
		}
	}
	if (!check_net(net)) {
		np = ERR_PTR(-ENETDOWN);
		goto out;
	}
	np = mroce_net_port_create(net, port);
	if (!IS_ERR(np))
		list_add_tail(&np->node, &ns->ports);
out:
	mutex_unlock(&mroce_net_mutex);
	return np;
}

void mroce_net_port_put(struct mroce_net_port *np)
{
	mutex_lock(&mroce_net_mutex);
	if (--np->users) {
		mutex_unlock(&mroce_net_mutex);
		return;
	}
	list_del(&np->node);
	WARN_ON_ONCE(!list_empty(&np->routes));
	mroce_routes_kill(np);
	mroce_socks_close(np);
	mutex_unlock(&mroce_net_mutex);
	kfree_rcu(np, rcu);
}

struct net *mroce_net_port_net(const struct mroce_net_port *np)
{
	return READ_ONCE(np->dead) ? NULL : np->net;
}

void mroce_net_port_stats(const struct mroce_net_port *np, struct mroce_net_stats *stats)
{
	stats->csum = atomic64_read(&np->csum_errors);
	stats->no_csum = atomic64_read(&np->no_csum);
	stats->not_host = atomic64_read(&np->not_host);
}

static int __net_init mroce_net_ns_init(struct net *net)
{
	struct mroce_net_ns *ns = net_generic(net, mroce_net_id);

	INIT_LIST_HEAD(&ns->ports);
	return 0;
}

static void __net_exit mroce_net_ns_pre_exit(struct net *net)
{
	struct mroce_net_ns *ns = net_generic(net, mroce_net_id);
	struct mroce_net_port *np;

	mutex_lock(&mroce_net_mutex);
	list_for_each_entry(np, &ns->ports, node)
		mroce_routes_kill(np);
	mutex_unlock(&mroce_net_mutex);
}

static void __net_exit mroce_net_ns_exit(struct net *net)
{
	struct mroce_net_ns *ns = net_generic(net, mroce_net_id);
	struct mroce_net_port *np;

	mutex_lock(&mroce_net_mutex);
	while ((np = list_first_entry_or_null(&ns->ports, struct mroce_net_port, node))) {
		list_del_init(&np->node);	/* mroce_net_port_put() may delete it again */
		mroce_socks_close(np);
	}
	mutex_unlock(&mroce_net_mutex);
}

static struct pernet_operations mroce_net_ns_ops = {
	.init = mroce_net_ns_init,
	.pre_exit = mroce_net_ns_pre_exit,
	.exit = mroce_net_ns_exit,
	.id = &mroce_net_id,
	.size = sizeof(struct mroce_net_ns),
};

int mroce_net_init(void)
{
	int err;

	err = mroce_txq_init();
	if (err)
		return err;
	err = register_pernet_subsys(&mroce_net_ns_ops);
	if (err)
		mroce_txq_exit();
	return err;
}

void mroce_net_exit(void)
{
	unregister_pernet_subsys(&mroce_net_ns_ops);
	mroce_txq_exit();
	mroce_skb_cache_exit();
}
