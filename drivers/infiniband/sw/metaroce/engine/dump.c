// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* What the engine tells of connections and paths: snapshots, and events. */
#include "internal.h"

struct mroce_econn *mroce_engine_conn_get(u32 cid)
{
	struct mroce_econn *econn = mroce_econn_find(cid);

	if (!econn || mroce_econn_listed(econn))
		return econn;
	mroce_econn_put(econn);
	return NULL;
}

void mroce_engine_conn_put(struct mroce_econn *econn)
{
	mroce_econn_put(econn);
}

struct mroce_dev *mroce_engine_conn_dev(const struct mroce_econn *econn)
{
	return econn->dev;
}

u32 mroce_engine_conn_cid(const struct mroce_econn *econn)
{
	return econn->conn.cid;
}

static u32 in_flight(const struct mroce_conn *c)
{
	u32 i, n = 0;

	for (i = 0; i < c->npaths; i++)
		n += c->paths[i].inflight;
	return n;
}

static u64 rate(const struct mroce_conn *c)
{
	if (!c->base_us)
		return 0;
	return div_u64((u64)c->bdp * c->cfg.payload * USEC_PER_SEC, c->base_us);
}

static void copy_id(const struct mroce_econn *econn, struct mroce_conn_id *id)
{
	mroce_assert_conn(econn);
	id->cid = econn->conn.cid;
	id->peer_cid = econn->conn.peer_cid;
	id->state = econn->conn.state;
	id->src = econn->src;
	id->dst = econn->dst;
	id->tclass = econn->tclass;
	id->is_self = econn->is_self;
}

void mroce_engine_conn_info(struct mroce_econn *econn, struct mroce_conn_info *info)
{
	const struct mroce_conn *c = &econn->conn;

	spin_lock_bh(&econn->dev->conns_lock);
	info->streams = econn->nstreams;
	info->nalso = econn->nalso;
	memcpy(info->also, econn->also, sizeof(info->also));
	spin_unlock_bh(&econn->dev->conns_lock);
	spin_lock_bh(&econn->lock);
	copy_id(econn, &info->id);
	info->peer_device_id = econn->peer_device_id;
	info->peer_epoch = econn->peer_epoch;
	info->payload = c->cfg.payload;
	info->paths = c->npaths;
	info->active_paths = c->nactive;
	info->window = c->window;
	info->in_flight = in_flight(c);
	info->resend = c->resend_count;
	info->base_us = c->base_us;
	info->rate = rate(c);
	info->memory = sizeof(*econn) + mroce_conn_mem() +
		       mroce_txmem_size(c->window, c->max_paths);
	info->sched = c->sched->name;
	info->cc = c->cc->name;
	memcpy(info->counters, c->counters, sizeof(info->counters));
	spin_unlock_bh(&econn->lock);
}

static void copy_path(const struct mroce_path *p, struct mroce_path_info *info)
{
	info->id = p->id;
	info->way = p->way;
	info->sport = p->sport;
	info->state = p->state;
	info->probes = p->probes;
	info->reo_steps = p->reo_steps;
	info->srtt_us = p->srtt_us;
	info->rttvar_us = p->rttvar_us;
	info->base_us = p->base_us;
	info->cwnd = p->cwnd;
	info->in_flight = p->inflight;
	info->ce_alpha = p->ce_alpha;
	info->tx_pkts = p->tx_pkts;
	info->retx_pkts = p->retx_pkts;
	info->marks = p->marks;
}

bool mroce_engine_path_info(struct mroce_econn *econn, u32 id, struct mroce_path_info *info)
{
	bool found;

	spin_lock_bh(&econn->lock);
	/* growing moves them, and adds more, but takes none away */
	found = id < econn->conn.npaths;
	if (found)
		copy_path(&econn->conn.paths[id], info);
	spin_unlock_bh(&econn->lock);
	return found;
}

void mroce_econn_conn_event(struct mroce_conn *c)
{
	struct mroce_econn *econn = to_econn(c);
	struct mroce_conn_id id;

	mroce_trace_conn_event(c);
	if (!mroce_nl_listened(econn->dev))
		return;
	copy_id(econn, &id);
	mroce_nl_conn_event(econn->dev, &id);
}

void mroce_econn_path_event(struct mroce_conn *c, const struct mroce_path *p, u8 old)
{
	struct mroce_econn *econn = to_econn(c);
	struct mroce_path_info info;

	mroce_trace_path_event(c, p, old);
	if (!mroce_nl_listened(econn->dev))
		return;
	copy_path(p, &info);
	info.old_state = old;
	mroce_nl_path_event(econn->dev, c->cid, &econn->dst, &info);
}
