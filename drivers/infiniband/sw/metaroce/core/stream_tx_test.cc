// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* How a message is cut: whole lines of the target, room for extensions, nothing left out. */
#include "sim_test.h"

namespace {

void cut(const mroce_conn_cfg &cfg, u8 op, u8 flags, u64 addr, u32 len)
{
	u32 limit = flags & (MROCE_MSG_IMM | MROCE_MSG_INV) ? cfg.payload_ext : cfg.payload;
	u32 skew = op == MROCE_OP_WRITE ? addr % MROCE_LINE : 0;
	u32 offset = 0, packets = 0, even = 0;
	bool last = false;

	while (!last) {
		u32 n = mroce_stream_chunk(&cfg, op, flags, addr, offset, len, &last);

		ASSERT_LE(n, cfg.payload);
		if (last && flags & (MROCE_MSG_IMM | MROCE_MSG_INV)) {
			ASSERT_LE(n, cfg.payload_ext);
		}
		if (!last) {
			ASSERT_GT(n, 0u);
			if (op == MROCE_OP_WRITE) {
				ASSERT_EQ((addr + offset + n) % MROCE_LINE, 0u);
			}
			/* equal but for the ends: they share bursts */
			if (!offset)
				even = n + skew;
			ASSERT_EQ(offset ? n : n + skew, even);
		} else if (offset) {
			ASSERT_LE(n, even);
		}
		offset += n;
		packets++;
	}
	ASSERT_EQ(offset, len);
	ASSERT_EQ(packets, std::max<u32>((skew + len + limit - 1) / limit, 1));
}

TEST(chunk, lines_and_extensions)
{
	for (u32 mtu : { 576u, 1280u, 1500u, 4200u, 9000u }) {
		for (bool ipv6 : { false, true }) {
			mroce_conn_cfg cfg;

			mroce_cfg_default(&cfg);
			mroce_cfg_mtu(&cfg, mtu, ipv6);
			ASSERT_EQ(cfg.payload % MROCE_LINE, 0u);
			ASSERT_LE(cfg.payload + MROCE_DATA_LEN + 8 + (ipv6 ? 40 : 20), mtu);
			ASSERT_LE(cfg.payload_ext + MROCE_DATA_LEN + MROCE_EXT_IMM_LEN + 8 +
				  (ipv6 ? 40 : 20), mtu);
			for (u32 skew : { 0, 1, 8, 64, 127 })
				for (u32 len : { 0u, 1u, 127u, 128u, 129u, cfg.payload - 1,
						 cfg.payload, cfg.payload + 1, 3 * cfg.payload,
						 65536u, 100000u, 1u << 20 })
					for (u8 flags : { 0, (int)MROCE_MSG_IMM })
						for (u8 op : { MROCE_OP_SEND, MROCE_OP_WRITE })
							cut(cfg, op, flags, 4096 + skew, len);
		}
	}
}

} /* namespace */
