// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Names of the counters, for `rdma statistic` and sysfs hw_counters. */
#include "../engine/engine.h"
#include "internal.h"

static const struct rdma_stat_desc mroce_counter_descs[] = {
	[MROCE_CNT_TX_PKTS].name = "tx_pkts",
	[MROCE_CNT_TX_BYTES].name = "tx_bytes",
	[MROCE_CNT_TX_BURSTS].name = "tx_bursts",
	[MROCE_CNT_TX_ACKS].name = "tx_acks",
	[MROCE_CNT_TX_DGRAMS].name = "tx_dgrams",
	[MROCE_CNT_TX_NO_ROUTE].name = "tx_no_route",
	[MROCE_CNT_TX_DROPS].name = "tx_drops",
	[MROCE_CNT_RX_PKTS].name = "rx_pkts",
	[MROCE_CNT_RX_BYTES].name = "rx_bytes",
	[MROCE_CNT_RX_BATCHES].name = "rx_batches",
	[MROCE_CNT_RX_ACKS].name = "rx_acks",
	[MROCE_CNT_RX_DGRAMS].name = "rx_dgrams",
	[MROCE_CNT_RX_CE].name = "rx_ce",
	[MROCE_CNT_RETX_GAP].name = "retx_gap",
	[MROCE_CNT_RETX_PROBE].name = "retx_probe",
	[MROCE_CNT_RETX_REFUSED].name = "retx_refused",
	[MROCE_CNT_RETX_FAILOVER].name = "retx_failover",
	[MROCE_CNT_RETX_SPURIOUS].name = "retx_spurious",
	[MROCE_CNT_PATH_SUSPECT].name = "path_suspect",
	[MROCE_CNT_PATH_FAILED].name = "path_failed",
	[MROCE_CNT_WAY_UP].name = "plane_up",
	[MROCE_CNT_WAY_DOWN].name = "plane_down",
	[MROCE_CNT_CC_MARK].name = "cc_mark",
	[MROCE_CNT_CC_DELAY].name = "cc_delay",
	[MROCE_CNT_CC_OVERFLOW].name = "cc_overflow",
	[MROCE_CNT_RNR_WAITS].name = "rnr_waits",
	[MROCE_CNT_TIMEOUT_FAILS].name = "timeout_fails",
	[MROCE_CNT_RX_DUP_PATH].name = "rx_dup_path",
	[MROCE_CNT_RX_DUP_CPN].name = "rx_dup_cpn",
	[MROCE_CNT_RX_REFUSED_RNR].name = "rx_refused_rnr",
	[MROCE_CNT_RX_REFUSED_HOLD].name = "rx_refused_hold",
	[MROCE_CNT_RX_HELD].name = "rx_held",
	[MROCE_CNT_RX_OUT_OF_WINDOW].name = "rx_out_of_window",
	[MROCE_CNT_RX_NO_RECORD].name = "rx_no_record",
	[MROCE_CNT_RX_MALFORMED].name = "rx_malformed",
	[MROCE_CNT_RX_VERSION].name = "rx_version",
	[MROCE_CNT_RX_TYPE].name = "rx_type",
	[MROCE_CNT_RX_CSUM].name = "rx_csum",
	[MROCE_CNT_RX_NO_CONN].name = "rx_no_conn",
	[MROCE_CNT_RX_NO_STREAM].name = "rx_no_stream",
	[MROCE_CNT_RX_NO_PATH].name = "rx_no_path",
	[MROCE_CNT_RX_NO_QP].name = "rx_no_qp",
	[MROCE_CNT_RX_NO_DEVICE].name = "rx_no_device",
	[MROCE_CNT_RX_QKEY].name = "rx_qkey",
	[MROCE_CNT_RX_WRONG_SOURCE].name = "rx_wrong_source",
	[MROCE_CNT_RX_BAD_ACK].name = "rx_bad_ack",
	[MROCE_CNT_RX_BAD_MSN].name = "rx_bad_msn",
	[MROCE_CNT_RX_BAD_OFFSET].name = "rx_bad_offset",
	[MROCE_CNT_RX_BAD_TAG].name = "rx_bad_tag",
	[MROCE_CNT_RX_BAD_COOKIE].name = "rx_bad_cookie",
	[MROCE_CNT_RX_ACCESS_ERR].name = "rx_access_err",
	[MROCE_CNT_RX_NO_BUFFER].name = "rx_no_buffer",
	[MROCE_CNT_RX_TRUNCATED].name = "rx_truncated",
	[MROCE_CNT_HELLO_TX].name = "hello_tx",
	[MROCE_CNT_HELLO_RX].name = "hello_rx",
	[MROCE_CNT_HELLO_REJECT].name = "hello_reject",
	[MROCE_CNT_CONN_UP].name = "conn_up",
	[MROCE_CNT_CONN_LOST].name = "conn_lost",
	[MROCE_CNT_STREAM_OPEN].name = "stream_open",
	[MROCE_CNT_STREAM_REJECT].name = "stream_reject",
};

/* The last one has a name, so none was forgotten at the end. */
static_assert(ARRAY_SIZE(mroce_counter_descs) == MROCE_CNT_MAX);

const char *mroce_counter_name(enum mroce_counter id)
{
	return mroce_counter_descs[id].name;
}

struct rdma_hw_stats *mroce_alloc_hw_port_stats(struct ib_device *ibdev, u32 port)
{
	return rdma_alloc_hw_stats_struct(mroce_counter_descs, ARRAY_SIZE(mroce_counter_descs),
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

int mroce_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats, u32 port, int index)
{
	int i;

	if (!port || !stats)
		return -EINVAL;
	for (i = 0; i < MROCE_CNT_MAX; i++)
		stats->value[i] = mroce_engine_counter(to_mdev(ibdev), i);
	return MROCE_CNT_MAX;
}
