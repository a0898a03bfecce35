// Any bytes as a SPEC: an accepted one is in force exactly as its text form says, a refused one is
// explained in one printable line, and nothing outside the input is pointed to.
#include <haltpoll/core/spec.hpp>

using namespace haltpoll::core;

namespace {

void require(bool holds) {
  if (!holds) __builtin_trap();
}

bool inside(spec::text part, spec::text whole) {
  return part.size == 0 ||
         (part.data >= whole.data && part.data + part.size <= whole.data + whole.size);
}

spec::line fresh(char (&buffer)[spec::max_length]) { return {buffer, sizeof buffer}; }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8* data, unsigned long size) {
  const spec::text in{reinterpret_cast<const char*>(data), static_cast<u32>(size)};
  const spec::result r = spec::parse(in);
  char first[spec::max_length];
  spec::line once = fresh(first);
  if (r.code == spec::error::none) {
    spec::format(r.params, once);
    const spec::result again = spec::parse(spec::text{first, once.size});
    require(again.code == spec::error::none && again.params.which == r.params.which);
    for (const spec::key& k : spec::keys) require(k.get(again.params) == k.get(r.params));
    return 0;
  }
  spec::describe(r, once);
  require(once.size != 0 && first[once.size] == '\0');
  for (u32 i = 0; i < once.size; ++i) require(first[i] >= ' ' && first[i] <= '~');
  // What check() complains about is a combination, named from the table; the rest is the user's
  // text.
  const bool combination = r.code == spec::error::start_above_max ||
                           (r.code == spec::error::out_of_range && r.word.size == 0);
  if (!combination) require(inside(r.word, in) && inside(r.key, in));
  return 0;
}
