#pragma once
// spec: the text form of a governor and its parameters, `name[:key=value,...]`, for command line,
// environment and configuration file alike. Freestanding like the rest of the room, because the
// preload library parses it before anything is initialised: no allocation, the text is only pointed
// into, and the wording of errors is here so that every place prints the same.
//
// Nothing is clamped and nothing falls back: a text is either taken as it stands or refused with
// the reason.
#include "any.hpp"

namespace haltpoll::core::spec {

/// Longest window any backend polls, ns: an RCU grace period in the kernel waits for a polling CPU,
/// and past 1 ms the wake penalty (115 us after 10 ms) can never repay the poll.
inline constexpr u64 hard_cap_ns = 1'000'000;
/// Longest text accepted; every key of the longest governor with the largest values needs less than
/// half (spec_test.cpp).
inline constexpr u32 max_length = 512;

/// A piece of the parsed text; not terminated.
struct text {
  const char* data = "";
  u32 size = 0;
};

enum class error : u32 {
  none,
  too_long,          ///< longer than max_length
  unknown_governor,  ///< `word` is no governor
  unknown_key,       ///< `word` is no key of this governor
  no_value,          ///< `word` has no `=value`
  not_a_number,      ///< `word` is not a decimal number without sign
  out_of_range,      ///< `word`, or `value` where that is empty, is above `limit`
  given_twice,       ///< `word` was given before
  start_above_max,   ///< the floor of a grown window is above its cap
};

struct result {
  any::params params;
  error code = error::none;
  text word;      ///< the offending piece of the input; of start_above_max the name of the cap
  text key;       ///< the key it belongs to, where there is one
  u64 value = 0;  ///< what was asked, where it fits
  u64 limit = 0;  ///< what is allowed at most
};

/// One key of one governor: its range, and where the value goes.
struct key {
  any::kind governor;
  const char* name;
  u64 max;
  u64 (*get)(const any::params&);
  void (*set)(any::params&, u64);
};

#define HALTPOLL_KEY(gov, field, max)                                                      \
  key {                                                                                    \
    any::kind::gov, #field, max,                                                           \
        [](const any::params& p) { return static_cast<u64>(p.gov.field); },                \
        [](any::params& p, u64 v) { p.gov.field = static_cast<decltype(p.gov.field)>(v); } \
  }

inline constexpr u64 any_u32 = 0xffff'ffffULL;

/// Every key there is; `haltpoll` has the names of /sys/module/haltpoll/parameters, `host` those of
/// kvm.
inline constexpr key keys[] = {
    HALTPOLL_KEY(haltpoll, guest_halt_poll_ns, hard_cap_ns),
    HALTPOLL_KEY(haltpoll, guest_halt_poll_grow, any_u32),
    HALTPOLL_KEY(haltpoll, guest_halt_poll_grow_start, any_u32),
    HALTPOLL_KEY(haltpoll, guest_halt_poll_shrink, any_u32),
    HALTPOLL_KEY(haltpoll, guest_halt_poll_allow_shrink, 1),
    HALTPOLL_KEY(haltpoll, zero_below_grow_start, 1),
    HALTPOLL_KEY(host, halt_poll_ns, hard_cap_ns),
    HALTPOLL_KEY(host, halt_poll_ns_grow, any_u32),
    HALTPOLL_KEY(host, halt_poll_ns_grow_start, any_u32),
    HALTPOLL_KEY(host, halt_poll_ns_shrink, any_u32),
    HALTPOLL_KEY(fixed, window_ns, hard_cap_ns),
    HALTPOLL_KEY(breakeven, wake_ns, hard_cap_ns),
    HALTPOLL_KEY(breakeven, latency_price, 1000),
};
#undef HALTPOLL_KEY
inline constexpr u32 key_count = sizeof keys / sizeof keys[0];
static_assert(key_count <= 32, "parse() keeps one bit per key in a u32");

struct name {
  any::kind governor;
  const char* text;
};
inline constexpr name names[] = {
    {any::kind::haltpoll, "haltpoll"},
    {any::kind::host, "host"},
    {any::kind::fixed, "fixed"},
    {any::kind::breakeven, "breakeven"},
};

/// A terminated string as a text; one longer than max_length is cut after max_length + 1, so that
/// it is still too long.
constexpr text length_of(const char* s) {
  u32 n = 0;
  while (s[n] != '\0' && n <= max_length) ++n;
  return {s, n};
}

constexpr bool equal(text a, const char* b) {
  u32 i = 0;
  while (i < a.size && b[i] != '\0' && a.data[i] == b[i]) ++i;
  return i == a.size && b[i] == '\0';
}

constexpr bool all_digits(text t) {
  for (u32 i = 0; i < t.size; ++i)
    if (t.data[i] < '0' || t.data[i] > '9') return false;
  return t.size != 0;
}

/// Decimal, digits only, no sign, no overflow. False leaves `out` alone.
constexpr bool number(text t, u64& out) {
  if (!all_digits(t)) return false;
  u64 v = 0;
  for (u32 i = 0; i < t.size; ++i) {
    const u64 digit = static_cast<u64>(t.data[i] - '0');
    if (v > (never - digit) / 10) return false;
    v = v * 10 + digit;
  }
  out = v;
  return true;
}

/// Name of a governor, never null.
constexpr const char* name_of(any::kind k) {
  for (const name& n : names)
    if (n.governor == k) return n.text;
  return "";
}

/// Cuts the text before the next `stop` from the front of `rest`, and the stop with it.
constexpr text take(text& rest, char stop, bool& found) {
  u32 n = 0;
  while (n < rest.size && rest.data[n] != stop) ++n;
  found = n < rest.size;
  const text head{rest.data, n};
  rest = found ? text{rest.data + n + 1, rest.size - n - 1} : text{rest.data + n, 0};
  return head;
}

namespace detail {
constexpr result fail(result r, error code, text word) {
  r.code = code;
  r.word = word;
  return r;
}
}  // namespace detail

/// Combinations that single ranges cannot see.
constexpr result check(result r) {
  // A cap of 0 means "never poll"; the floor is then never reached.
  const auto above = [&r](const char* floor, u64 value, const char* cap, u64 limit) {
    if (limit == 0 || value <= limit) return;
    r.code = error::start_above_max;
    r.key = length_of(floor);
    r.word = length_of(cap);
    r.value = value;
    r.limit = limit;
  };
  if (r.params.which == any::kind::haltpoll)
    above("guest_halt_poll_grow_start", r.params.haltpoll.guest_halt_poll_grow_start,
          "guest_halt_poll_ns", r.params.haltpoll.guest_halt_poll_ns);
  if (r.params.which == any::kind::host)
    above("halt_poll_ns_grow_start", r.params.host.halt_poll_ns_grow_start, "halt_poll_ns",
          r.params.host.halt_poll_ns);
  if (r.params.which == any::kind::breakeven &&
      breakeven::window(r.params.breakeven) > hard_cap_ns) {
    r.code = error::out_of_range;
    r.key = length_of("wake_ns * latency_price");
    r.value = breakeven::window(r.params.breakeven);
    r.limit = hard_cap_ns;
  }
  return r;
}

/// Parses `name[:key=value,...]`. Keys not given keep their defaults.
constexpr result parse(text in) {
  result r;
  if (in.size > max_length) {
    r.limit = max_length;
    return detail::fail(r, error::too_long, {in.data, 0});
  }
  text rest = in;
  bool more = false;
  const text governor = take(rest, ':', more);
  bool known = false;
  for (const name& n : names) {
    if (!equal(governor, n.text)) continue;
    r.params.which = n.governor;
    known = true;
  }
  if (!known) return detail::fail(r, error::unknown_governor, governor);
  u32 seen = 0;  // bit per key of the table
  while (more) {
    const text assignment = take(rest, ',', more);
    text value = assignment;
    bool has_value = false;
    const text name = take(value, '=', has_value);
    u32 index = 0;
    while (index < key_count &&
           (keys[index].governor != r.params.which || !equal(name, keys[index].name)))
      ++index;
    if (index == key_count) return detail::fail(r, error::unknown_key, name);
    const key& k = keys[index];
    r.key = name;
    if (!has_value) return detail::fail(r, error::no_value, name);
    if ((seen & (1U << index)) != 0) return detail::fail(r, error::given_twice, name);
    seen |= 1U << index;
    if (!all_digits(value)) return detail::fail(r, error::not_a_number, value);
    if (!number(value, r.value) || r.value > k.max) {
      r.limit = k.max;
      return detail::fail(r, error::out_of_range, value);
    }
    k.set(r.params, r.value);
    r.key = {};
    r.value = 0;
  }
  return check(r);
}

constexpr result parse(const char* s) { return parse(length_of(s)); }

/// A text in a buffer of the caller's, always terminated, cut where the buffer ends. `capacity` is
/// at least 1.
struct line {
  char* data;
  u32 capacity;
  u32 size = 0;
};

constexpr void put(line& l, text t) {
  for (u32 i = 0; i < t.size && l.size + 1 < l.capacity; ++i) {
    const char c = t.data[i];
    l.data[l.size++] =
        c >= ' ' && c <= '~' ? c : '?';  // never a control character from outside onto a terminal
  }
  l.data[l.size] = '\0';
}
constexpr void put(line& l, const char* s) { put(l, length_of(s)); }
constexpr void put(line& l, u64 v) {
  char digits[20] = {};
  u32 n = 0;
  do {
    digits[19 - n++] = static_cast<char>('0' + v % 10);
    v /= 10;
  } while (v != 0);
  put(l, text{digits + 20 - n, n});
}

/// The spec again, with every key and its value: what is in force. `capacity` >= max_length
/// suffices.
constexpr void format(const any::params& p, line& out) {
  put(out, name_of(p.which));
  char before = ':';
  for (const key& k : keys) {
    if (k.governor != p.which) continue;
    put(out, text{&before, 1});
    put(out, k.name);
    put(out, "=");
    put(out, k.get(p));
    before = ',';
  }
}

/// What is wrong, as one line without an end: "guest_halt_poll_ns 5000000 is above the limit
/// 1000000".
constexpr void describe(const result& r, line& out) {
  switch (r.code) {
    case error::none: break;
    case error::too_long:
      put(out, "the text is longer than "), put(out, r.limit), put(out, " characters");
      break;
    case error::unknown_governor: {
      put(out, "unknown governor \""), put(out, r.word), put(out, "\"; there are");
      const char* before = " ";
      for (const name& n : names) put(out, before), put(out, n.text), before = ", ";
      break;
    }
    case error::unknown_key: {
      put(out, "unknown key \""), put(out, r.word), put(out, "\" for "),
          put(out, name_of(r.params.which));
      const char* before = "; it takes ";
      for (const key& k : keys)
        if (k.governor == r.params.which) put(out, before), put(out, k.name), before = ", ";
      break;
    }
    case error::no_value:
      put(out, r.key), put(out, " has no value; write "), put(out, r.key), put(out, "=NUMBER");
      break;
    case error::not_a_number:
      put(out, r.key), put(out, " \""), put(out, r.word),
          put(out, "\" is not a whole number of 0 or more");
      break;
    case error::out_of_range:
      put(out, r.key), put(out, " ");
      if (r.word.size != 0)
        put(out, r.word);  // as written: it may not fit a u64
      else
        put(out, r.value);
      put(out, " is above the limit "), put(out, r.limit);
      break;
    case error::given_twice: put(out, r.key), put(out, " is given twice"); break;
    case error::start_above_max:
      put(out, r.key), put(out, " "), put(out, r.value), put(out, " is above "), put(out, r.word),
          put(out, " "), put(out, r.limit);
      break;
  }
}

/// What to do about it; "" where the line above says it all.
constexpr const char* hint(error code) {
  if (code == error::start_above_max)
    return "the first growth would jump to the limit and any long idle period would drop it to 0; "
           "use a value below the limit";
  return "";
}

}  // namespace haltpoll::core::spec
