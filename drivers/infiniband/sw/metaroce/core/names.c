// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Names of states and codes, for traces, dumps and tests. */
#include "internal.h"

static const char *name_of(const char * const *table, size_t n, u8 i)
{
	return i < n && table[i] ? table[i] : "?";
}

static const char * const stream_names[] = {
	[MROCE_STREAM_IDLE] = "IDLE",
	[MROCE_STREAM_OPENING] = "OPENING",
	[MROCE_STREAM_OPEN] = "OPEN",
	[MROCE_STREAM_ERROR] = "ERROR",
};

static_assert(ARRAY_SIZE(stream_names) == MROCE_STREAM_STATES);

static const char * const path_names[] = {
	[MROCE_PATH_PROBING] = "PROBING",
	[MROCE_PATH_ACTIVE] = "ACTIVE",
	[MROCE_PATH_SUSPECT] = "SUSPECT",
	[MROCE_PATH_FAILED] = "FAILED",
};

static_assert(ARRAY_SIZE(path_names) == MROCE_PATH_STATES);

static const char * const conn_names[] = {
	[MROCE_CONN_CONNECTING] = "CONNECTING",
	[MROCE_CONN_UP] = "UP",
	[MROCE_CONN_DEAD] = "DEAD",
};

static_assert(ARRAY_SIZE(conn_names) == MROCE_CONN_STATES);

static const char * const nak_names[] = {
	[MROCE_NAK_NONE] = "NONE",
	[MROCE_NAK_INV_REQ] = "INV_REQ",
	[MROCE_NAK_ACCESS] = "ACCESS",
	[MROCE_NAK_OP] = "OP",
	[MROCE_NAK_GONE] = "GONE",
	[MROCE_NAK_RNR] = "RNR",
	[MROCE_NAK_HOLD] = "HOLD",
	[MROCE_NAK_NOT_READY] = "NOT_READY",
};

static_assert(ARRAY_SIZE(nak_names) == MROCE_NAK_MAX);

static const char * const op_names[] = {
	[MROCE_OP_NOP] = "NOP",
	[MROCE_OP_VOID] = "VOID",
	[MROCE_OP_OPEN] = "OPEN",
	[MROCE_OP_OPEN_ACK] = "OPEN_ACK",
	[MROCE_OP_OPEN_NAK] = "OPEN_NAK",
	[MROCE_OP_SEND] = "SEND",
	[MROCE_OP_WRITE] = "WRITE",
	[MROCE_OP_READ] = "READ",
	[MROCE_OP_READ_RESP] = "READ_RESP",
	[MROCE_OP_FETCH_ADD] = "FETCH_ADD",
	[MROCE_OP_CMP_SWAP] = "CMP_SWAP",
	[MROCE_OP_ATOMIC_RESP] = "ATOMIC_RESP",
};

static_assert(ARRAY_SIZE(op_names) == MROCE_OP_MAX);

const char *mroce_stream_state_name(u8 state)
{
	return name_of(stream_names, ARRAY_SIZE(stream_names), state);
}

const char *mroce_path_state_name(u8 state)
{
	return name_of(path_names, ARRAY_SIZE(path_names), state);
}

const char *mroce_conn_state_name(u8 state)
{
	return name_of(conn_names, ARRAY_SIZE(conn_names), state);
}

const char *mroce_nak_name(u8 nak)
{
	return name_of(nak_names, ARRAY_SIZE(nak_names), nak);
}

const char *mroce_op_name(u8 op)
{
	return name_of(op_names, ARRAY_SIZE(op_names), op);
}
