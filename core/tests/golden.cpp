#include "golden.hpp"

#include <array>
#include <charconv>

namespace haltpoll::golden {
namespace {

using core::u32;
using core::u64;

constexpr std::size_t details_shown = 5;

/// The replay of one file: what is carried from row to row.
struct course {
  runner& decide;
  bool is_6_12;  // the version of the file
  step current;
  state_step current_state;
  bool started = false;
  u32 set = 0;  // parameter set of the row before
  std::string differences;
  std::string error;
};

void expect(course& c, const char* what, u64 expected, u64 actual) {
  if (expected == actual) return;
  c.differences +=
      std::string(" ") + what + "=" + std::to_string(actual) + " not " + std::to_string(expected);
}

void expect_event(course& c, std::string_view expected) {
  constexpr std::string_view names[] = {"s", "-", "g", "inconsistent"};  // from -1
  const std::string_view actual = names[c.current.event + 1];
  if (expected != actual)
    c.differences += " ev=" + std::string(actual) + " not " + std::string(expected);
}

/// guest_halt_poll_ns, shrink, grow, grow_start, allow_shrink of the sets of haltpoll_unit and
/// haltpoll_loop.
constexpr std::array<std::array<u32, 5>, 18> guest_sets{{
    {200'000, 2, 2, 50'000, 1},
    {200'000, 2, 2, 50'000, 0},
    {200'000, 0, 2, 50'000, 1},
    {200'000, 3, 2, 50'000, 1},
    {200'000, 2, 4, 50'000, 1},
    {200'000, 2, 2, 10'000, 1},
    {1'000'000, 2, 2, 50'000, 1},
    {0, 2, 2, 50'000, 1},
    {200'000, 2, 0, 50'000, 1},
    {200'000, 2, 1, 50'000, 1},
    {200'000, 2, 2, 0, 1},
    {200'000, 2, 2, 300'000, 1},
    {200'000, 1, 2, 50'000, 1},
    {200'000, 4'294'967'295, 2, 50'000, 1},
    {4'294'967'295, 2, 2'147'483'648, 50'000, 1},
    {4'294'967'295, 2, 3, 1, 1},
    {200'000, 2, 2, 1, 1},
    {50'000, 2, 2, 50'000, 1},
}};

/// halt_poll_ns, grow, grow_start, shrink, the VM has a cap, the cap; of the sets of kvm_host.
constexpr std::array<std::array<u32, 6>, 13> host_sets{{
    {200'000, 2, 10'000, 0, 0, 0},
    {200'000, 2, 10'000, 2, 0, 0},
    {0, 2, 10'000, 0, 0, 0},
    {200'000, 2, 10'000, 3, 0, 0},
    {200'000, 4, 10'000, 0, 0, 0},
    {200'000, 0, 10'000, 0, 0, 0},
    {200'000, 2, 50'000, 2, 0, 0},
    {1'000'000, 2, 10'000, 2, 0, 0},
    {5'000, 2, 10'000, 0, 0, 0},
    {200'000, 1, 10'000, 2, 0, 0},
    {200'000, 2, 0, 2, 0, 0},
    {4'294'967'295, 3, 1, 2, 0, 0},
    {200'000, 2, 10'000, 2, 1, 50'000},
}};

/// The parameters of this row's set. A set begins with a fresh device.
template <std::size_t count, std::size_t width>
std::array<u32, width> of_set(course& c, const row& r,
                              const std::array<std::array<u32, width>, count>& sets) {
  const u32 set = r.number32("set");
  if (!c.started || set != c.set) c.current.state = {};
  c.set = set;
  if (set < count) return sets[set];
  c.error = "set " + std::to_string(set) + " is unknown, the last is " + std::to_string(count - 1);
  return {};
}

void guest_params(course& c, const std::array<u32, 5>& values) {
  c.current.params.which = core::any::kind::haltpoll;
  auto& p = c.current.params.haltpoll;
  p.guest_halt_poll_ns = values[0];
  p.guest_halt_poll_shrink = values[1];
  p.guest_halt_poll_grow = values[2];
  p.guest_halt_poll_grow_start = values[3];
  p.guest_halt_poll_allow_shrink = values[4];
  p.zero_below_grow_start = c.is_6_12 ? 1 : 0;
}

void host_params(course& c, const row& r, const std::array<u32, 6>& values) {
  c.current.params.which = core::any::kind::host;
  auto& p = c.current.params.host;
  p.halt_poll_ns = values[0];
  p.halt_poll_ns_grow = values[1];
  p.halt_poll_ns_grow_start = values[2];
  p.halt_poll_ns_shrink = values[3];
  p.has_vm_cap = values[4];
  p.vm_cap_ns = values[5];
  p.polling_refused = r.number32("nopoll");
}

/// One cpuidle_select() with its cpuidle_reflect(). `ptl`: poll_time_limit before; `timed_out`: it
/// after, if this was a poll; `resident_ns`: time in the state.
void guest_row(course& c, const row& r, const char* ptl, bool timed_out, u64 resident_ns) {
  step& s = c.current;
  const auto latency_us = static_cast<core::s64>(r.number("lat_us"));
  const auto entered = static_cast<core::s64>(r.number("ent"));
  s.request = {};
  if (latency_us >= 0) s.request.latency_limit_ns = static_cast<u64>(latency_us) * 1000;
  s.entered = entered >= 0 ? 1 : 0;
  s.outcome = {};
  if (entered == core::poll_state) {
    s.outcome.state = core::poll_state;
    s.outcome.timed_out = timed_out;
    s.outcome.polled_ns = resident_ns;
  } else if (entered > 0) {
    s.outcome.state = static_cast<u32>(entered);
    s.outcome.block_ns = resident_ns;
  }
  expect(c, "prev", r.number("prev"), s.state.haltpoll.last_state);
  expect(c, ptl, r.number(ptl), s.state.haltpoll.poll_timed_out);
  expect(c, "w0", r.number("w0"), s.state.haltpoll.window_ns);
  if (!c.decide.run(s)) return;
  expect(c, "sel", r.number("sel"), s.decision.state);
  expect(c, "stop", r.number("stop"), s.decision.stop_tick ? 1 : 0);
  expect(c, "w1", r.number("w1"), s.state.haltpoll.window_ns);
  expect_event(c, r.cell("ev"));
}

/// The governor alone: poll_idle() is not run, so it never stores a limit of its own.
void unit_row(course& c, const row& r) {
  guest_params(c, of_set(c, r, guest_sets));
  guest_row(c, r, "ptl", r.number("block_ns") > r.number("w0"), r.number("block_ns"));
}

void change_row(course& c, const row& r) {
  guest_params(c, {r.number32("halt_poll_ns"), r.number32("shrink"), r.number32("grow"),
                   r.number32("grow_start"), r.number32("allow")});
  guest_row(c, r, "ptl", r.number("block_ns") > r.number("w0"), r.number("block_ns"));
}

/// The whole idle loop, recorded at HZ=250: a poll with a window of 0 (possible at a latency limit
/// of 0) stores TICK_NSEC / 16.
void loop_row(course& c, const row& r) {
  c.current.default_limit_ns = 250'000;
  guest_params(c, of_set(c, r, guest_sets));
  guest_row(c, r, "ptl0", r.number("ptl1") != 0, r.number("res_ns"));
}

/// One kvm_vcpu_halt(); halt_ns is the whole of it, poll included.
void host_row(course& c, const row& r) {
  step& s = c.current;
  s.request = {};
  s.entered = 1;
  s.outcome = {};
  s.outcome.spurious = r.number("valid") == 0;
  s.outcome.block_ns = r.number("halt_ns");
  expect(c, "h0", r.number("h0"), s.state.host.window_ns);
  if (!c.decide.run(s)) return;
  expect(c, "attempt", r.number("attempt"), s.decision.state == core::poll_state ? 1 : 0);
  expect(c, "h1", r.number("h1"), s.state.host.window_ns);
  expect_event(c, r.cell("ev"));
}

void host_set_row(course& c, const row& r) {
  host_params(c, r, of_set(c, r, host_sets));
  host_row(c, r);
}

void host_change_row(course& c, const row& r) {
  const u32 has_cap = r.number32("ovr");
  host_params(c, r,
              {r.number32("halt_poll_ns"), r.number32("grow"), r.number32("grow_start"),
               r.number32("shrink"), has_cap, has_cap != 0 ? r.number32("cap") : 0});
  host_row(c, r);
}

/// The drivers' tables; latencies and residencies in us.
struct named_table {
  std::string_view name;
  u32 first_polls;
  u32 count;
  u64 states[core::max_states][2];
};
constexpr named_table tables[] = {
    {"haltpoll2", 1, 2, {{0, 0}, {1, 1}}},                   // the haltpoll driver
    {"skx4", 1, 4, {{0, 0}, {2, 2}, {10, 20}, {133, 600}}},  // Skylake-X
    {"juno3", 0, 3, {{1, 1}, {1500, 2000}, {1600, 2500}}},   // Arm's Juno board
    {"deep5", 1, 5, {{0, 0}, {3, 12}, {100, 300}, {1200, 5000}, {3000, 20000}}},  // made up
};

/// `text` goes on with `name`, and `name` does not end in the middle of a number or word.
bool goes_on(std::string_view text, std::string_view name) {
  const auto is_alnum = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  return text.starts_with(name) && (text.size() == name.size() || !is_alnum(text[name.size()]));
}

/// TICK_NSEC, from the `_hz250` of a name. 0: there is none.
u64 tick_of(std::string_view rest) {
  constexpr std::string_view key = "_hz";
  const auto at = rest.find(key);
  if (at == std::string_view::npos) return 0;
  rest.remove_prefix(at + key.size());
  u32 hz = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), hz);
  constexpr u32 second = 1'000'000'000;
  return hz == 0 || hz > 10'000 ? 0 : (second + hz / 2) / hz;
}

bool table_of(std::string_view rest, core::state_table& out) {
  for (auto at = rest.find('_'); at != std::string_view::npos; at = rest.find('_', at + 1)) {
    for (const named_table& t : tables) {
      if (!goes_on(rest.substr(at + 1), t.name)) continue;
      out.count = t.count;
      for (u32 i = 0; i < t.count; ++i)
        out.states[i] = {t.states[i][0] * 1000, t.states[i][1] * 1000, 0};
      out.states[0].polling = t.first_polls;
      return true;
    }
  }
  return false;
}

/// The parameters, from what follows governor and version in the name. Empty: they are set.
std::string state_params(course& c, core::any_state::kind which, std::string_view rest) {
  core::state_table table;
  const u64 tick_ns = tick_of(rest);
  if (tick_ns == 0) return "the name says no tick rate (hz250 and the like)";
  if (!table_of(rest, table)) {
    std::string known;
    for (const named_table& t : tables) known += (known.empty() ? "" : ", ") + std::string(t.name);
    return "the name says no known table of idle states (" + known + ")";
  }
  const u32 as_6_12 = c.is_6_12 ? 1 : 0;
  core::any_state::params& p = c.current_state.params;
  p.which = which;
  p.menu = {table, tick_ns, as_6_12};
  p.teo = {table, tick_ns, as_6_12};
  p.ladder = {table};
  return {};
}

/// One select() with its reflect() of a governor that chooses among idle states.
void state_row(course& c, const row& r) {
  state_step& s = c.current_state;
  const core::state_table& t = s.params.ladder.table;  // the same for all
  const auto latency_us = static_cast<core::s64>(r.number("lat_us"));
  s.request = {};
  if (latency_us >= 0) s.request.latency_limit_ns = static_cast<u64>(latency_us) * 1000;
  s.request.next_timer_ns = static_cast<core::s64>(r.number("slen_ns"));
  s.request.next_event_ns = static_cast<core::s64>(r.number("dtick_ns"));
  s.request.tick_stopped = r.number("tstop") != 0;
  s.request.iowaiters = r.number32("iow");
  s.request.disabled = r.number("dis");
  const auto entered = static_cast<core::s64>(r.number("ent"));
  if (entered >= t.count) {
    c.error = "state " + std::to_string(entered) + " is unknown, the last is " +
              std::to_string(t.count - 1);
    return;
  }
  s.entered = entered >= 0 ? 1 : 0;
  s.outcome = {};
  if (entered >= 0) {
    s.outcome.state = static_cast<u32>(entered);
    const bool polled = core::at(t, s.outcome.state).polling != 0;
    (polled ? s.outcome.polled_ns : s.outcome.block_ns) = r.number("res_ns");
    s.outcome.span_ns = static_cast<core::s64>(r.number("span_ns"));
    s.outcome.timed_out = r.number("ptl") != 0;
    s.outcome.woken_by_tick = r.number("gtick") != 0;
  }
  if (!c.decide.run(s)) return;
  expect(c, "sel", r.number("sel"), s.decision.state);
  expect(c, "stop", r.number("stop"), s.decision.stop_tick ? 1 : 0);
  expect(c, "nq", r.number("nq"), s.asked_timer);
  if (r.has("dbg")) expect(c, "dbg", r.number("dbg"), s.inner);
}

/// What a file holds, by its name. Of two that fit the earlier one is meant.
struct shape {
  std::string_view name;
  bool versioned;  // the kernel version follows the name
  void (*row)(course&, const row&);
  core::any_state::kind governor{};  // of state_row
};
constexpr shape shapes[] = {
    {"haltpoll_unit_", true, unit_row},
    {"haltpoll_change_", true, change_row},
    {"haltpoll_loop_", true, loop_row},
    {"kvm_host_change", false, host_change_row},
    {"kvm_host", false, host_set_row},
    {"menu_", true, state_row, core::any_state::kind::menu},
    {"teo_", true, state_row, core::any_state::kind::teo},
    {"ladder_", true, state_row, core::any_state::kind::ladder},
};

/// Kernel versions that behave differently. A longer name says a stable release: 6.12.117.
constexpr std::string_view versions[] = {"6.12", "6.1"};

std::string_view base_name(std::string_view file) { return file.substr(file.rfind('/') + 1); }

}  // namespace

report replay(std::string_view file, const table& t, runner& decide) {
  report out;
  const std::string_view name = base_name(file);
  const shape* found = nullptr;
  std::string_view rest;
  for (const shape& s : shapes) {
    const auto at = name.find(s.name);
    if (at == std::string_view::npos) continue;
    found = &s;
    rest = name.substr(at + s.name.size());
    break;
  }
  std::string_view version;
  for (const std::string_view v : versions)
    if (version.empty() && goes_on(rest, v)) version = v;
  if (found == nullptr)
    out.error = "the name says no known shape";
  else if (found->versioned && version.empty())
    out.error = "the name says no known kernel version (6.1, 6.12)";
  else if (!t.error().empty())
    out.error = t.error();
  else if (t.rows() == 0)
    out.error = "no rows";
  if (!out.error.empty()) return out;

  course c{.decide = decide,
           .is_6_12 = version == "6.12",
           .current = {},
           .current_state = {},
           .differences = {},
           .error = {}};
  if (found->row == state_row) {
    out.error = state_params(c, found->governor, rest.substr(version.size()));
    if (!out.error.empty()) return out;
  }
  for (std::size_t i = 0; i < t.rows(); ++i) {
    const row r(t, i);
    c.differences.clear();
    found->row(c, r);
    c.started = true;
    out.error = !r.error().empty() ? r.error() : c.error;
    if (!out.error.empty()) return out;
    ++out.rows;
    if (c.differences.empty()) continue;
    if (out.mismatches++ < details_shown)
      out.details.push_back("row " + std::to_string(i) + ":" + c.differences);
  }
  return out;
}

report replay_file(const std::string& file, runner& decide) {
  report out;
  std::string text;
  if (!read_file(file, text, out.error)) return out;
  return replay(file, table(std::move(text)), decide);
}

}  // namespace haltpoll::golden
