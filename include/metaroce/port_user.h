/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The user-space side of port.h: included by it alone. Usable from C and C++. */
#ifndef _METAROCE_PORT_USER_H
#define _METAROCE_PORT_USER_H

#include <endian.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

#define cpu_to_be16(x)	htobe16(x)
#define cpu_to_be32(x)	htobe32(x)
#define cpu_to_be64(x)	htobe64(x)
#define be16_to_cpu(x)	be16toh(x)
#define be32_to_cpu(x)	be32toh(x)
#define be64_to_cpu(x)	be64toh(x)

static inline u16 get_unaligned_be16(const void *p)
{
	u16 v;

	memcpy(&v, p, sizeof(v));
	return be16toh(v);
}

static inline u32 get_unaligned_be32(const void *p)
{
	u32 v;

	memcpy(&v, p, sizeof(v));
	return be32toh(v);
}

static inline u64 get_unaligned_be64(const void *p)
{
	u64 v;

	memcpy(&v, p, sizeof(v));
	return be64toh(v);
}

static inline void put_unaligned_be16(u16 v, void *p)
{
	v = htobe16(v);
	memcpy(p, &v, sizeof(v));
}

static inline void put_unaligned_be32(u32 v, void *p)
{
	v = htobe32(v);
	memcpy(p, &v, sizeof(v));
}

static inline void put_unaligned_be64(u64 v, void *p)
{
	v = htobe64(v);
	memcpy(p, &v, sizeof(v));
}

#ifdef __cplusplus
#define MROCE_TYPEOF(x) decltype(x)
#ifndef static_assert
#define mroce_static_assert(e) static_assert(e, #e)
#endif
#else
#define MROCE_TYPEOF(x) __typeof__(x)
#define static_assert(e, ...) _Static_assert(e, #e)
#define min(a, b) ({ MROCE_TYPEOF(a) _a = (a); MROCE_TYPEOF(b) _b = (b); _a < _b ? _a : _b; })
#define max(a, b) ({ MROCE_TYPEOF(a) _a = (a); MROCE_TYPEOF(b) _b = (b); _a > _b ? _a : _b; })
#define min_t(t, a, b) ({ t _a = (a); t _b = (b); _a < _b ? _a : _b; })
#define max_t(t, a, b) ({ t _a = (a); t _b = (b); _a > _b ? _a : _b; })
#define clamp_t(t, v, lo, hi) min_t(t, max_t(t, v, lo), hi)
#define container_of(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))
#define fallthrough __attribute__((fallthrough))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define READ_ONCE(x) (*(const volatile MROCE_TYPEOF(x) *)&(x))
#define WRITE_ONCE(x, v) (*(volatile MROCE_TYPEOF(x) *)&(x) = (v))
#define round_up(x, y) round_down((x) + (y) - 1, y)
#define DIV_ROUND_UP(x, y) (((x) + (y) - 1) / (y))
#define round_down(x, y) ((x) & ~((MROCE_TYPEOF(x))(y) - 1))
#define div_u64(a, b) ((u64)(a) / (u32)(b))
#define __ffs64(v)	((u32)__builtin_ctzll(v))
#define div64_u64(a, b) ((u64)(a) / (u64)(b))
#define ilog2(x) (63 - __builtin_clzll(x))
#define ffs64(x) __builtin_ctzll(x)
#define is_power_of_2(x) ((x) && !((x) & ((x) - 1)))

/* A broken invariant ends a test run at once, in the kernel it warns. */
#define MROCE_BUG_ON(cond) ({						\
	bool _c = (cond);						\
	if (_c) {							\
		fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #cond); \
		abort();						\
	}								\
	_c;								\
})
#endif

struct list_head {
	struct list_head *next, *prev;
};

static inline void INIT_LIST_HEAD(struct list_head *l)
{
	l->next = l;
	l->prev = l;
}

static inline bool list_empty(const struct list_head *l)
{
	return l->next == l;
}

static inline void list_add_tail(struct list_head *n, struct list_head *head)
{
	n->prev = head->prev;
	n->next = head;
	head->prev->next = n;
	head->prev = n;
}

static inline void list_del_init(struct list_head *n)
{
	n->prev->next = n->next;
	n->next->prev = n->prev;
	INIT_LIST_HEAD(n);
}

static inline void list_move_tail(struct list_head *n, struct list_head *head)
{
	n->prev->next = n->next;
	n->next->prev = n->prev;
	list_add_tail(n, head);
}

#define list_entry(ptr, type, member) container_of(ptr, type, member)
#define list_first_entry(head, type, member) list_entry((head)->next, type, member)
#define list_for_each_entry(pos, head, member)				\
	for (pos = list_first_entry(head, __typeof__(*pos), member);	\
	     &pos->member != (head);					\
	     pos = list_entry(pos->member.next, __typeof__(*pos), member))
#define list_for_each_entry_safe(pos, n, head, member)			\
	for (pos = list_first_entry(head, __typeof__(*pos), member),	\
	     n = list_entry(pos->member.next, __typeof__(*pos), member);\
	     &pos->member != (head);					\
	     pos = n, n = list_entry(n->member.next, __typeof__(*n), member))

#ifdef __cplusplus
extern "C" {
#endif
/* SipHash-2-4; core/port_user.c. */
u64 mroce_siphash(const void *data, size_t len, const u64 key[2]);
#ifdef __cplusplus
}
#endif

#endif /* _METAROCE_PORT_USER_H */
