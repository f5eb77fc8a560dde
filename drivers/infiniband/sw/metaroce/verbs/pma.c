// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Answers performance management queries: that is how the core fills the files
 * of sysfs ports/1/counters, which monitoring (node_exporter) reads.
 */
#include <rdma/ib_mad.h>
#include <rdma/ib_pma.h>

#include "../engine/engine.h"
#include "internal.h"

#define MROCE_PMA_DATA		40	/* of the attribute in ib_mad.data */
#define MROCE_PMA_PORT_SELECT	41

/* port_xmit_data and port_rcv_data count 4-byte words */
static u64 mroce_pma_words(struct mroce_dev *dev, enum mroce_counter id)
{
	return mroce_engine_counter(dev, id) / 4;
}

static u64 mroce_pma_tx_pkts(struct mroce_dev *dev)
{
	return mroce_engine_counter(dev, MROCE_CNT_TX_PKTS) +
	       mroce_engine_counter(dev, MROCE_CNT_TX_DGRAMS);
}

static u64 mroce_pma_rx_pkts(struct mroce_dev *dev)
{
	return mroce_engine_counter(dev, MROCE_CNT_RX_PKTS) +
	       mroce_engine_counter(dev, MROCE_CNT_RX_DGRAMS);
}

static void mroce_pma_class_info(void *data)
{
	struct ib_class_port_info *info = data;

	info->base_version = IB_MGMT_BASE_VERSION;
	info->class_version = 1;
	info->capability_mask = IB_PMA_CLASS_CAP_EXT_WIDTH;
}

static void mroce_pma_counters(struct mroce_dev *dev, void *data)
{
	struct ib_pma_portcounters *cnt = data;

	/* these stick at their largest value, as the specification has it */
	cnt->port_xmit_data = cpu_to_be32(min_t(u64, U32_MAX,
						mroce_pma_words(dev, MROCE_CNT_TX_BYTES)));
	cnt->port_rcv_data = cpu_to_be32(min_t(u64, U32_MAX,
					       mroce_pma_words(dev, MROCE_CNT_RX_BYTES)));
	cnt->port_xmit_packets = cpu_to_be32(min_t(u64, U32_MAX, mroce_pma_tx_pkts(dev)));
	cnt->port_rcv_packets = cpu_to_be32(min_t(u64, U32_MAX, mroce_pma_rx_pkts(dev)));
	cnt->port_xmit_discards = cpu_to_be16(min_t(u64, U16_MAX,
						    mroce_engine_counter(dev,
									 MROCE_CNT_TX_DROPS)));
	cnt->port_rcv_errors = cpu_to_be16(min_t(u64, U16_MAX,
						 mroce_engine_counter(dev,
								      MROCE_CNT_RX_MALFORMED)));
}

static void mroce_pma_counters_ext(struct mroce_dev *dev, void *data)
{
	struct ib_pma_portcounters_ext *cnt = data;

	cnt->port_xmit_data = cpu_to_be64(mroce_pma_words(dev, MROCE_CNT_TX_BYTES));
	cnt->port_rcv_data = cpu_to_be64(mroce_pma_words(dev, MROCE_CNT_RX_BYTES));
	cnt->port_xmit_packets = cpu_to_be64(mroce_pma_tx_pkts(dev));
	cnt->port_rcv_packets = cpu_to_be64(mroce_pma_rx_pkts(dev));
	cnt->port_unicast_xmit_packets = cnt->port_xmit_packets;
	cnt->port_unicast_rcv_packets = cnt->port_rcv_packets;
}

int mroce_process_mad(struct ib_device *ibdev, int flags, u32 port, const struct ib_wc *wc,
		      const struct ib_grh *grh, const struct ib_mad *in, struct ib_mad *out,
		      size_t *out_size, u16 *out_pkey_index)
{
	struct mroce_dev *dev = to_mdev(ibdev);
	void *data = out->data + MROCE_PMA_DATA;

	if (in->mad_hdr.mgmt_class != IB_MGMT_CLASS_PERF_MGMT ||
	    in->mad_hdr.method != IB_MGMT_METHOD_GET)
		return IB_MAD_RESULT_SUCCESS;

	memset(out, 0, sizeof(*out));
	out->mad_hdr = in->mad_hdr;
	out->mad_hdr.method = IB_MGMT_METHOD_GET_RESP;
	out->mad_hdr.status = 0;

	switch (in->mad_hdr.attr_id) {
	case IB_PMA_CLASS_PORT_INFO:
		mroce_pma_class_info(data);
		break;
	case IB_PMA_PORT_COUNTERS:
		out->data[MROCE_PMA_PORT_SELECT] = in->data[MROCE_PMA_PORT_SELECT];
		mroce_pma_counters(dev, data);
		break;
	case IB_PMA_PORT_COUNTERS_EXT:
		out->data[MROCE_PMA_PORT_SELECT] = in->data[MROCE_PMA_PORT_SELECT];
		mroce_pma_counters_ext(dev, data);
		break;
	default:
		out->mad_hdr.status = cpu_to_be16(IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB);
		break;
	}
	return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
}
