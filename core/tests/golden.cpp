#include "golden.hpp"

#include <array>

namespace haltpoll::golden {
namespace {

using core::u32;
using core::u64;

constexpr std::size_t details_shown = 5;

/// The replay of one file: what is carried from row to row.
struct course {
  const runner& decide;
  u32 zero_below_grow_start;  // the version of the file
  step current;
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
  p.zero_below_grow_start = c.zero_below_grow_start;
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
  if (!c.decide(s)) return;
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
  if (!c.decide(s)) return;
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

/// What a file holds, by its name. Of two that fit the earlier one is meant.
struct shape {
  std::string_view name;
  bool versioned;  // the kernel version follows the name
  void (*row)(course&, const row&);
};
constexpr shape shapes[] = {
    {"haltpoll_unit_", true, unit_row}, {"haltpoll_change_", true, change_row},
    {"haltpoll_loop_", true, loop_row}, {"kvm_host_change", false, host_change_row},
    {"kvm_host", false, host_set_row},
};

/// Kernel versions, and what tells them apart.
struct version {
  std::string_view name;
  u32 zero_below_grow_start;
};
constexpr version versions[] = {{"6.12", 1}, {"6.1", 0}};

/// `text` goes on with `name`, and `name` does not end in the middle of a number.
bool goes_on(std::string_view text, std::string_view name) {
  return text.starts_with(name) &&
         (text.size() == name.size() || text[name.size()] < '0' || text[name.size()] > '9');
}

std::string_view base_name(std::string_view file) { return file.substr(file.rfind('/') + 1); }

}  // namespace

report replay(std::string_view file, const table& t, const runner& decide) {
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
  const version* kernel = nullptr;
  for (const version& v : versions)
    if (kernel == nullptr && goes_on(rest, v.name)) kernel = &v;
  if (found == nullptr)
    out.error = "the name says no known shape";
  else if (found->versioned && kernel == nullptr)
    out.error = "the name says no known kernel version (6.1, 6.12)";
  else if (!t.error().empty())
    out.error = t.error();
  else if (t.rows() == 0)
    out.error = "no rows";
  if (!out.error.empty()) return out;

  course c{.decide = decide,
           .zero_below_grow_start = kernel != nullptr ? kernel->zero_below_grow_start : 0,
           .current = {},
           .differences = {},
           .error = {}};
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

report replay_file(const std::string& file, const runner& decide) {
  report out;
  std::string text;
  if (!read_file(file, text, out.error)) return out;
  return replay(file, table(std::move(text)), decide);
}

}  // namespace haltpoll::golden
