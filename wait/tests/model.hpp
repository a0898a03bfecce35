#pragma once
// model: a machine for the primitives on which a test decides every step. Threads are coroutines
// that stop before each atomic operation and each system call; `explore` runs a scenario once for
// every order of those steps (with a bound on preemptions where there are too many), so a lost wake
// is found for certain: it is a run that ends with somebody asleep.
#include <errno.h>
#include <gtest/gtest.h>
#include <ucontext.h>

#include <atomic>
#include <functional>
#include <haltpoll/core/types.hpp>
#include <memory>
#include <string>
#include <vector>

namespace model {

using haltpoll::core::never;
using haltpoll::core::u32;
using haltpoll::core::u64;

/// One run: the threads, and the choices that led it.
class run {
 public:
  run(std::vector<u32>& choices, std::vector<u32>& widths, int preemptions)
      : choices_(choices), widths_(widths), preemptions_left_(preemptions) {}

  void add(std::function<void()> body) {
    auto t = std::make_unique<thread>();
    t->body = std::move(body);
    // Stacks are used again by the next run: making them anew costs more than a run.
    static std::vector<std::unique_ptr<char[]>> stacks;
    if (stacks.size() == threads_.size()) {
      stacks.push_back(std::make_unique_for_overwrite<char[]>(stack_size));
    }
    getcontext(&t->context);
    t->context.uc_stack.ss_sp = stacks[threads_.size()].get();
    t->context.uc_stack.ss_size = stack_size;
    t->context.uc_link = &main_;
    makecontext(&t->context, reinterpret_cast<void (*)()>(&enter), 0);
    threads_.push_back(std::move(t));
  }

  /// Runs until nobody can; true if everybody is done.
  bool go() {
    current_run = this;
    for (;;) {
      std::vector<thread*> able;
      // First the one that ran last: going on with it is no preemption.
      if (last_ != nullptr && can_run(*last_)) able.push_back(last_);
      const bool going_on = !able.empty();
      if (!going_on || preemptions_left_ > 0) {
        for (auto& t : threads_) {
          if (t.get() != last_ && can_run(*t)) able.push_back(t.get());
        }
      }
      if (able.empty()) break;
      const u32 pick = choose(static_cast<u32>(able.size()));
      if (going_on && pick != 0) --preemptions_left_;
      last_ = able[pick];
      if (last_->asleep_on != nullptr) {  // its time-out fires
        now_ = std::max(now_, last_->deadline);
        last_->asleep_on = nullptr;
        last_->futex_result = ETIMEDOUT;
      }
      swapcontext(&main_, &last_->context);
    }
    current_run = nullptr;
    for (auto& t : threads_) {
      if (!t->done) return false;
    }
    return true;
  }

  u32 choose(u32 n) {
    if (n <= 1) return 0;
    if (at_ == choices_.size()) {
      choices_.push_back(0);
      widths_.push_back(n);
    }
    widths_[at_] = n;
    return std::min(choices_[at_++], n - 1);
  }

  void step() { swapcontext(&last_->context, &main_); }

  int futex_wait(const void* word, const std::function<bool()>& unchanged, u64 deadline) {
    step();
    if (!unchanged()) return EAGAIN;
    if (deadline <= now_) return ETIMEDOUT;
    last_->asleep_on = word;
    last_->deadline = deadline;
    last_->futex_result = 0;
    ++sleeps;
    step();
    return last_->futex_result;
  }

  void futex_wake(const void* word, u32 count) {
    step();
    ++wakes;
    for (auto& t : threads_) {
      if (count == 0) return;
      if (t->asleep_on != word) continue;
      t->asleep_on = nullptr;
      --count;
    }
  }

  u64 now() { return now_ += 1'000; }

  int sleeps = 0;
  int wakes = 0;
  static inline run* current_run = nullptr;

 private:
  static constexpr std::size_t stack_size = 256 * 1024;

  struct thread {
    std::function<void()> body;
    ucontext_t context;
    const void* asleep_on = nullptr;
    u64 deadline = never;
    int futex_result = 0;
    bool done = false;
  };

  static void enter() {
    thread* self = current_run->last_;
    self->body();
    self->done = true;
  }

  static bool can_run(const thread& t) {
    return !t.done && (t.asleep_on == nullptr || t.deadline != never);
  }

  std::vector<std::unique_ptr<thread>> threads_;
  std::vector<u32>& choices_;
  std::vector<u32>& widths_;
  std::size_t at_ = 0;
  int preemptions_left_;
  thread* last_ = nullptr;
  ucontext_t main_;
  u64 now_ = 1'000'000;
};

/// std::atomic's interface, one step per operation. The orders are ignored: what they allow beyond
/// sequential consistency is argued in the headers and checked by ThreadSanitizer on real threads.
template <class T>
class atomic {
 public:
  using value_type = T;
  static constexpr bool is_always_lock_free = true;

  constexpr atomic(T value = T{}) : value_(value) {}
  T load(std::memory_order = {}) const {
    step();
    return value_;
  }
  void store(T value, std::memory_order = {}) {
    step();
    value_ = value;
  }
  T fetch_add(T n, std::memory_order = {}) { return replace(static_cast<T>(value_after() + n)); }
  T fetch_or(T bits, std::memory_order = {}) { return replace(value_after() | bits); }
  T fetch_and(T bits, std::memory_order = {}) { return replace(value_after() & bits); }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order = {},
                               std::memory_order = {}) {
    step();
    if (value_ == expected) {
      value_ = desired;
      return true;
    }
    expected = value_;
    return false;
  }
  T peek() const { return value_; }

 private:
  static void step() {
    if (run::current_run != nullptr) run::current_run->step();
  }
  T value_after() const {
    step();
    return value_;
  }
  T replace(T next) {
    const T old = value_;
    value_ = next;
    return old;
  }

  T value_;
};

struct machine {
  template <class T>
  using atomic = model::atomic<T>;
  static constexpr u32 first_looks = 1;

  static int futex_wait(const atomic<u64>& word, u32 seen, u64 deadline_ns) {
    return run::current_run->futex_wait(
        &word, [&] { return static_cast<u32>(word.peek() >> 32) == seen; }, deadline_ns);
  }
  static void futex_wake(const atomic<u64>& word, u32 count) {
    run::current_run->futex_wake(&word, count);
  }
  static u64 now_ns() { return run::current_run->now(); }
  static void relax() {}
  /// One look; the caller looks again until the time is over.
  static void poll_upper(const atomic<u64>& word, u32, u64) { (void)word.load(); }

  /// Whether somebody took the CPU at a yield is one more choice.
  class watch {
   public:
    void arm() {}
    bool disturbed() const { return run::current_run->choose(2) != 0; }
    bool give_way() { return disturbed(); }
    void disarm() {}
  };
};

/// Runs `scenario` in every order. It adds threads to the run, and returns a check for afterwards
/// (which says what is wrong; empty: nothing). `preemptions` bounds how often a thread that could
/// go on is stopped. Returns the number of runs.
inline u64 explore(const std::function<std::function<std::string(run&)>(run&)>& scenario,
                   int preemptions = 1'000'000, u64 most_runs = 3'000'000) {
  std::vector<u32> choices, widths;
  u64 runs = 0;
  for (;;) {
    run r(choices, widths, preemptions);
    const auto check = scenario(r);
    const bool all_done = r.go();
    ++runs;
    std::string wrong = check(r);
    if (!all_done) wrong = "lost wake: somebody sleeps for ever. " + wrong;
    if (!wrong.empty()) {
      std::string order;
      for (u32 c : choices) order += static_cast<char>('0' + c);
      ADD_FAILURE() << wrong << " (run " << runs << ", choices " << order << ")";
      return runs;
    }
    while (!choices.empty() && choices.back() + 1 >= widths.back()) {
      choices.pop_back();
      widths.pop_back();
    }
    if (choices.empty()) return runs;
    ++choices.back();
    if (runs == most_runs) {
      ADD_FAILURE() << "more than " << most_runs << " orders: bound the preemptions";
      return runs;
    }
  }
}

}  // namespace model
