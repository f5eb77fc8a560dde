/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Shared by the files of net/ only. */
#ifndef _METAROCE_NET_INTERNAL_H
#define _METAROCE_NET_INTERNAL_H

#include <linux/interrupt.h>
#include <linux/net.h>

#include "net.h"

/*
 * One socket. A path's packets come in on one CPU (one receive queue), so with a socket per CPU,
 * and one drainer per socket at a time, a path's batches reach the engine in order: a gap in a
 * path's numbers must mean loss.
 */
struct mroce_sock {
	struct mroce_net_port *np;
	struct socket *sock;
	void (*default_data_ready)(struct sock *sk);
	atomic_t pending;		/* looks at the queue that are due; > 0: somebody drains */
	struct tasklet_struct again;	/* continues when the budget was used up */
};

struct mroce_net_port {
	struct list_head node;		/* in mroce_net_ns.ports; under mroce_net_mutex */
	struct net *net;		/* not to be touched once dead */
	u16 port;
	bool dead;			/* the netns is ending; written under routes_lock */
	unsigned int users;		/* under mroce_net_mutex */
	struct sock *sk4, *sk6;		/* whom output is attributed to; NULL: family is off */

	spinlock_t routes_lock;		/* protects routes, and dst and np of its members */
	struct list_head routes;	/* struct mroce_route */

	atomic64_t csum_errors;
	atomic64_t no_csum;
	atomic64_t not_host;
	struct rcu_head rcu;

	unsigned int nsocks;
	struct mroce_sock socks[];
};

/* receive.c */
void mroce_sock_data_ready(struct sock *sk);
void mroce_sock_drain_again(struct tasklet_struct *t);

/* route.c: takes every route away. */
void mroce_routes_kill(struct mroce_net_port *np);

/* skb.c */
void mroce_skb_cache_exit(void);

/* txq.c */
int mroce_txq_init(void);
void mroce_txq_exit(void);

#endif /* _METAROCE_NET_INTERNAL_H */
