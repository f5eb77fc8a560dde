// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* A device's parameters: where they come from, and who follows them. */
#include "internal.h"

void mroce_params_default(struct mroce_params *p)
{
	struct mroce_conn_cfg cfg;

	mroce_cfg_default(&cfg);
	p->max_burst = MROCE_BURST_MAX;
	p->probe_floor_us = div_u64(cfg.probe_floor, NSEC_PER_USEC);
	p->delay_target_us = div_u64(cfg.delay_target, NSEC_PER_USEC);
	p->init_paths = cfg.paths;
	p->max_paths = cfg.max_paths;
}

void mroce_params_to_cfg(const struct mroce_params *p, struct mroce_conn_cfg *cfg)
{
	cfg->probe_floor = READ_ONCE(p->probe_floor_us) * (u64)NSEC_PER_USEC;
	cfg->delay_target = READ_ONCE(p->delay_target_us) * (u64)NSEC_PER_USEC;
	cfg->paths = READ_ONCE(p->init_paths);
	cfg->max_paths = READ_ONCE(p->max_paths);
}

void mroce_econn_set_params(struct mroce_econn *econn)
{
	lockdep_assert_held(&econn->dev->conns_lock);
	spin_lock(&econn->lock);
	mroce_params_to_cfg(&econn->dev->params, &econn->conn.cfg);
	spin_unlock(&econn->lock);
}

void mroce_engine_set_params(struct mroce_dev *dev, const struct mroce_params *p)
{
	struct mroce_econn *econn;

	spin_lock_bh(&dev->conns_lock);
	WRITE_ONCE(dev->params.max_burst, p->max_burst);
	WRITE_ONCE(dev->params.probe_floor_us, p->probe_floor_us);
	WRITE_ONCE(dev->params.delay_target_us, p->delay_target_us);
	WRITE_ONCE(dev->params.init_paths, p->init_paths);
	WRITE_ONCE(dev->params.max_paths, p->max_paths);
	list_for_each_entry(econn, &dev->conns, node)
		mroce_econn_set_params(econn);
	spin_unlock_bh(&dev->conns_lock);
}
