#pragma once
// sysroot: a directory of this test's own, as the root of another machine's /proc, /sys and /dev.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace haltpoll::kernel {

class sysroot {
 public:
  sysroot()
      : path_(testing::TempDir() + "haltpoll_" +
              testing::UnitTest::GetInstance()->current_test_info()->name() + "_" +
              std::to_string(getpid())) {
    std::filesystem::create_directories(path_);
  }
  sysroot(const sysroot&) = delete;
  sysroot& operator=(const sysroot&) = delete;
  ~sysroot() { std::filesystem::remove_all(path_); }
  sysroot& file(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((path_ / path).parent_path());
    std::ofstream(path_ / path) << text;
    return *this;
  }
  std::string path(const std::string& below = "") const {
    return below.empty() ? path_.string() : (path_ / below).string();
  }

 private:
  std::filesystem::path path_;
};

}  // namespace haltpoll::kernel
