// The checker checked: it accepts files of every shape, and it notices every kind of difference.
#include "golden.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

namespace haltpoll::golden {
namespace {

using core::u32;
using core::u64;

report replayed(const std::string& name, const std::string& text) {
  runner natively;
  return replay(name, table(text), natively);
}

std::string golden_text(const std::string& name) {
  std::string text;
  std::string error;
  EXPECT_TRUE(read_file(HALTPOLL_GOLDEN_DIR "/" + name, text, error)) << error;
  return text;
}

/// Whole rows of the first 50 kB: a beginning stands alone.
std::string beginning(const std::string& text) {
  return text.substr(0, text.find('\n', 50'000) + 1);
}

/// The cells of a file, so that a test can spoil one.
using cells = std::vector<std::vector<std::string>>;

cells split(const std::string& text) {
  cells out{{""}};
  for (const char c : text) {
    if (c == '\n')
      out.push_back({""});
    else if (c == ',')
      out.back().emplace_back();
    else
      out.back().back() += c;
  }
  if (out.back().size() == 1 && out.back()[0].empty()) out.pop_back();
  return out;
}

std::string joined(const cells& rows) {
  std::string out;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) out += (i == 0 ? "" : ",") + row[i];
    out += '\n';
  }
  return out;
}

std::size_t column(const cells& rows, const std::string& name) {
  return static_cast<std::size_t>(std::find(rows[0].begin(), rows[0].end(), name) -
                                  rows[0].begin());
}

/// kvm_host_change as it would be recorded, from the rules in words (core/tests/golden/README.md,
/// traps 21 and 22) and in other arithmetic than the governor's.
std::string synthetic_host_change(u32 seed) {
  std::mt19937 random(seed);
  const auto pick = [&random](std::initializer_list<u64> values) {
    return *(values.begin() + random() % values.size());
  };
  std::string out =
      "step,halt_poll_ns,grow,grow_start,shrink,ovr,cap,valid,nopoll,other_ns,wake_ns,wlat_ns,h0,"
      "attempt,waited,halt_ns,poll_ns,h1,ev\n";
  unsigned __int128 window = 0;
  u64 module_max = 0, grow = 0, grow_start = 0, shrink = 0, has_cap = 0, cap = 0;
  for (int i = 0; i < 2000; ++i) {
    if (i % 25 == 0) {
      module_max = pick({0, 5'000, 50'000, 200'000, 200'000, 1'000'000, 4'294'967'295});
      grow = pick({0, 1, 2, 2, 3, 4, 2'147'483'648});
      grow_start = pick({0, 1, 10'000, 10'000, 50'000});
      shrink = pick({0, 1, 2, 2, 3, 4'294'967'295});
      has_cap = pick({0, 0, 1});
      cap = pick({0, 50'000, 300'000});
    }
    const u64 max = has_cap == 1 ? cap : module_max;
    const bool valid = random() % 20 != 0;
    const bool may_poll = random() % 20 != 0;
    const u64 h0 = static_cast<u64>(window);
    window = std::min<unsigned __int128>(window, max);
    const bool attempt = may_poll && window > 0;
    const u64 halt = pick({0, 1, static_cast<u64>(window), static_cast<u64>(window) + 1, max,
                           max + 1, max == 0 ? 0 : max - 1, random() % 400'000, random()});
    char event = '-';
    if (may_poll) {
      const bool shrinks = !valid || (max > 0 && window > 0 && halt > window && halt > max);
      const bool grows = valid && halt > window && halt < max && window < max;
      if (shrinks) {
        event = 's';
        window = shrink == 0 ? 0 : window / shrink;
        if (window < grow_start) window = 0;
      } else if (grows) {
        event = 'g';
        if (grow > 0) {
          window = window * grow % (u64{1} << 32);
          window = std::max<unsigned __int128>(window, grow_start);
        }
      } else if (valid && max == 0) {
        window = 0;
      }
    }
    for (const u64 v :
         {u64(i), module_max, grow, grow_start, shrink, has_cap, cap, u64{valid}, u64{!may_poll}})
      out += std::to_string(v) + ",";
    out += "-1,0,0," + std::to_string(h0) + (attempt ? ",1,1," : ",0,1,") + std::to_string(halt) +
           ",0," + std::to_string(static_cast<u64>(window)) + "," + event + "\n";
  }
  return out;
}

TEST(replay, synthetic_host_change_gives_no_mismatch) {
  for (u32 seed = 1; seed <= 10; ++seed) {
    const report r = replayed("kvm_host_change.csv", synthetic_host_change(seed));
    EXPECT_EQ(r.error, "");
    EXPECT_EQ(r.rows, 2000U);
    EXPECT_EQ(r.mismatches, 0U) << "seed " << seed << ": " << r.details.front();
  }
}

// Every compared column of every shape, spoilt in one row of the middle.
TEST(replay, one_wrong_cell_is_a_mismatch) {
  struct {
    const char* file;
    std::vector<std::string> columns;
  } const shapes[] = {
      {"haltpoll_unit_6.12.csv.gz", {"prev", "ptl", "w0", "sel", "stop", "w1", "ev"}},
      {"haltpoll_change_6.1.csv.gz", {"prev", "ptl", "w0", "sel", "stop", "w1", "ev"}},
      {"haltpoll_loop_6.1.csv.gz", {"prev", "ptl0", "w0", "sel", "stop", "w1", "ev"}},
      {"kvm_host.csv.gz", {"h0", "attempt", "h1", "ev"}},
      {"kvm_host_change.csv", {"h0", "attempt", "h1", "ev"}},
      {"menu_6.1_hz250_deep5.csv.gz", {"sel", "stop", "nq", "dbg"}},
      {"menu_6.12_hz250_skx4.csv.gz", {"sel", "stop", "nq", "dbg"}},
      {"teo_6.1_hz250_skx4.csv.gz", {"sel", "stop", "nq", "dbg"}},
      {"teo_6.12_hz1000_juno3.csv.gz", {"sel", "stop", "nq", "dbg"}},
      {"ladder_6.12_hz250_juno3.csv.gz", {"sel", "stop", "nq", "dbg"}},
  };
  for (const auto& shape : shapes) {
    const std::string name = shape.file;
    cells good =
        split(name == "kvm_host_change.csv" ? synthetic_host_change(1) : golden_text(name));
    good.resize(400);  // a beginning stands alone, and is spoilt often
    for (const std::string& spoilt : shape.columns) {
      cells rows = good;
      std::string& cell = rows[rows.size() / 2].at(column(rows, spoilt));
      if (spoilt == "ev")
        cell = cell == "g" ? "-" : "g";
      else
        cell = cell == "0" ? "1" : "0";
      const report r = replayed(name, joined(rows));
      EXPECT_EQ(r.error, "") << name << " " << spoilt;
      EXPECT_GE(r.mismatches, 1U) << name << " " << spoilt;
      EXPECT_FALSE(r.details.empty());
    }
  }
}

// A replay that read the wrong parameters would not be noticed by a parameter that does not matter.
TEST(replay, the_wrong_version_or_set_is_noticed) {
  const std::string text = golden_text("haltpoll_unit_6.12.csv.gz");
  EXPECT_EQ(replayed("haltpoll_unit_6.12.csv", text).mismatches, 0U);
  EXPECT_GT(replayed("haltpoll_unit_6.1.csv", text).mismatches, 100U);
  cells rows = split(text);
  for (auto& row : rows)
    if (row[0] == "4") row[0] = "5";
  EXPECT_GT(replayed("haltpoll_unit_6.12.csv", joined(rows)).mismatches, 100U);
}

// The same of menu and teo: version, tick and table come from the name.
TEST(replay, the_wrong_version_tick_or_table_is_noticed) {
  const struct {
    const char* file;
    std::vector<const char*> wrong;
  } names[] = {
      {"menu_6.12_hz250_skx4",
       {"menu_6.1_hz250_skx4", "menu_6.12_hz1000_skx4", "menu_6.12_hz250_deep5"}},
      {"teo_6.12_hz250_juno3",
       {"teo_6.1_hz250_juno3", "teo_6.12_hz1000_juno3", "teo_6.12_hz250_skx4"}},
      {"ladder_6.12_hz250_juno3", {"ladder_6.12_hz250_haltpoll2"}},
  };
  for (const auto& name : names) {
    // Entries into states that the wrong table lacks would be errors: a beginning without them.
    cells rows = split(golden_text(std::string(name.file) + ".csv.gz"));
    const std::size_t entered = column(rows, "ent");
    std::erase_if(rows, [&](const auto& row) { return &row != &rows[0] && row[entered] > "1"; });
    const std::string text = golden_text(std::string(name.file) + ".csv.gz");
    EXPECT_EQ(replayed(name.file, text).mismatches, 0U);
    for (const char* wrong : name.wrong) {
      const std::string tried = std::string(wrong).ends_with("2") ? joined(rows) : text;
      EXPECT_GT(replayed(wrong, tried).mismatches, 100U) << wrong;
    }
  }
}

TEST(replay, the_inner_number_may_be_left_out) {
  cells rows = split(golden_text("menu_6.12_hz250_skx4.csv.gz"));
  const std::size_t inner = column(rows, "dbg");
  for (auto& row : rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(inner));
  const report r = replayed("menu_6.12_hz250_skx4.csv", joined(rows));
  EXPECT_EQ(r.error, "");
  EXPECT_EQ(r.mismatches, 0U);
}

TEST(replay, the_name_tells_the_shape_whatever_follows_it) {
  const std::string text = beginning(golden_text("haltpoll_unit_6.12.csv.gz"));
  for (const char* name :
       {"haltpoll_unit_6.12", "haltpoll_unit_6.12_odd.csv.gz", "/a.b/c/haltpoll_unit_6.12-x.csv",
        "kvm_host/haltpoll_unit_6.12.csv", "haltpoll_unit_6.12.117.csv"})
    EXPECT_EQ(replayed(name, text).mismatches, 0U) << name;
  const std::string host = beginning(golden_text("kvm_host.csv.gz"));
  EXPECT_EQ(replayed("kvm_host_second.csv", host).mismatches, 0U);
}

TEST(replay, columns_are_found_by_name) {
  cells rows = split(golden_text("haltpoll_loop_6.12.csv.gz"));
  for (auto& row : rows) {
    std::reverse(row.begin(), row.end());
    row.insert(row.begin(), &row == &rows[0] ? "note" : "unused");
  }
  const report r = replayed("haltpoll_loop_6.12.csv", joined(rows));
  EXPECT_EQ(r.error, "");
  EXPECT_EQ(r.mismatches, 0U);
  EXPECT_EQ(r.rows, rows.size() - 1);
}

TEST(replay, takes_carriage_returns_and_a_last_line_without_an_end) {
  std::string text;
  for (const char c : golden_text("haltpoll_change_6.1.csv.gz"))
    text += c == '\n' ? "\r\n" : std::string(1, c);
  text.resize(text.size() - 2);
  const report r = replayed("haltpoll_change_6.1.csv", text);
  EXPECT_EQ(r.rows, 2000U);
  EXPECT_EQ(r.mismatches, 0U);
}

TEST(replay, says_what_is_wrong_with_a_file) {
  const std::string header = "set,step,lat_us,prev,ptl,w0,sel,stop,ent,block_ns,w1,ev\n";
  const auto error = [&](const std::string& name, const std::string& text) {
    return replayed(name, text).error;
  };
  EXPECT_EQ(error("menus_6.1_hz250_skx4.csv", header), "the name says no known shape");
  EXPECT_EQ(error("haltpoll_unit_6.13.csv", header),
            "the name says no known kernel version (6.1, 6.12)");
  EXPECT_EQ(error("haltpoll_unit_6.12.csv", ""), "no rows");
  const std::string states =
      "step,wl,lat_us,slen_ns,dtick_ns,tstop,iow,dis,sel,stop,nq,ent,res_ns,span_ns,ptl,gtick,dbg\n"
      "0,c,-1,1,1,0,0,0,0,1,0,4,1,1,0,0,0\n";
  EXPECT_EQ(error("menu_6.13_hz250_skx4.csv", states),
            "the name says no known kernel version (6.1, 6.12)");
  for (const char* name : {"menu_6.12_skx4.csv", "teo_6.12_hz_skx4.csv", "teo_6.12_hz0_skx4.csv"})
    EXPECT_EQ(error(name, states), "the name says no tick rate (hz250 and the like)") << name;
  for (const char* name : {"teo_6.1_hz250_skx.csv", "teo_6.1_hz250_skx40.csv", "teo_6.1_hz250"})
    EXPECT_EQ(error(name, states),
              "the name says no known table of idle states (haltpoll2, skx4, juno3, deep5)")
        << name;
  EXPECT_EQ(error("ladder_6.1_hz250_skx4.csv", states), "state 4 is unknown, the last is 3");
  EXPECT_EQ(error("ladder_6.1_hz250_deep5_second.csv", states), "");
  EXPECT_EQ(error("haltpoll_unit_6.12.csv", header), "no rows");
  EXPECT_EQ(error("haltpoll_unit_6.12.csv", header + "0,0\n"),
            "line 2 has 2 cells, the header has 12");
  EXPECT_EQ(error("haltpoll_unit_6.12.csv", header + "0,0,-1,0,0,0,1,1,1,x,0,s\n"),
            "row 0: column block_ns is not a number of 64 bits");
  EXPECT_EQ(
      error("haltpoll_unit_6.12.csv", header + "0,0,-1,0,0,0,1,1,1,18446744073709551616,0,s\n"),
      "row 0: column block_ns is not a number of 64 bits");
  EXPECT_EQ(error("haltpoll_unit_6.12.csv", header + "18,0,-1,0,0,0,1,1,1,1,0,s\n"),
            "set 18 is unknown, the last is 17");
  EXPECT_EQ(error("haltpoll_unit_6.12.csv",
                  "set,step,lat_us,prev,ptl,w0,sel,stop,ent,block_ns,ev\n0,0,-1,0,0,0,1,1,1,1,g\n"),
            "row 0: column w1 is missing");
}

/// Runs golden_replay as a user does: exit code and what it wrote.
struct ran {
  int code;
  std::string out;
};
ran golden_replay(const std::string& arguments) {
  const std::string file = testing::TempDir() + "golden_replay." + std::to_string(getpid());
  const int status = std::system(
      (HALTPOLL_GOLDEN_REPLAY " " + arguments + " >" + file + " 2>" + file + ".err").c_str());
  std::ifstream in(file);
  ran result{WEXITSTATUS(status), {std::istreambuf_iterator<char>(in), {}}};
  std::filesystem::remove(file);
  std::filesystem::remove(file + ".err");
  return result;
}

TEST(golden_replay, exit_codes_and_output) {
  const std::filesystem::path dir = testing::TempDir() + "golden_test." + std::to_string(getpid());
  std::filesystem::create_directories(dir);
  const auto write = [&dir](const char* name, const std::string& text) {
    std::ofstream(dir / name) << text;
    return (dir / name).string();
  };
  const std::string text = golden_text("haltpoll_change_6.1.csv.gz");
  const std::string good = write("haltpoll_change_6.1.csv", text);
  cells rows = split(text);
  rows[7].at(column(rows, "w1")) = "12345";
  const std::string bad = write("haltpoll_change_6.1_bad.csv", joined(rows));
  std::string compressed;
  std::ifstream whole(HALTPOLL_GOLDEN_DIR "/kvm_host.csv.gz", std::ios::binary);
  compressed.assign(std::istreambuf_iterator<char>(whole), {});
  const std::string cut = write("kvm_host.csv.gz", compressed.substr(0, compressed.size() / 2));
  const std::string empty = write("kvm_host_empty.csv", "");

  const ran equal = golden_replay(good);
  EXPECT_EQ(equal.code, 0);
  EXPECT_EQ(equal.out, good + " rows=2000 mismatches=0\n");
  const ran differs = golden_replay(bad + " " + good);
  EXPECT_EQ(differs.code, 1);
  EXPECT_EQ(differs.out, bad + " rows=2000 mismatches=1\n" + good + " rows=2000 mismatches=0\n");
  const ran unreadable = golden_replay("/nonexistent/haltpoll_unit_6.12.csv " + good);
  EXPECT_EQ(unreadable.code, 65);
  EXPECT_EQ(unreadable.out, good + " rows=2000 mismatches=0\n") << "the others are still replayed";
  EXPECT_EQ(golden_replay(dir.string()).code, 65);
  EXPECT_EQ(golden_replay(cut).code, 65);
  EXPECT_EQ(golden_replay(empty).code, 65);
  EXPECT_EQ(golden_replay("").code, 64);
  EXPECT_EQ(golden_replay("--nonsense " + good).code, 64);
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace haltpoll::golden
