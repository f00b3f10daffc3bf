// What is said on standard error when nobody has asked to be told.
#include "sdk/error_lines.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "pawl/pawl.hpp"

namespace {

using namespace std::chrono_literals;
using pawl::Error;
using pawl::ErrorCode;
using pawl::detail::ErrorLines;

TEST(ErrorLines, SayEachErrorOnceInAWhile) {
  ErrorLines lines;
  const Error full = pawl::make_error(ErrorCode::kStoreFull, "the disk is full");
  const Error busy = pawl::make_error(ErrorCode::kStoreBusy, "the database\nis locked");
  const ErrorLines::Moment start{};
  EXPECT_EQ(lines.line("claiming runs", full, start), "pawl: claiming runs: the disk is full");
  // For each run, and again and again.
  EXPECT_EQ(lines.line("writing a turn of run 'a'", full, start), std::nullopt);
  EXPECT_EQ(lines.line("claiming runs", full, start + ErrorLines::kPause - 1ms), std::nullopt);
  EXPECT_EQ(lines.line("claiming runs", busy, start),
            "pawl: claiming runs: the database is locked");
  EXPECT_EQ(lines.line("claiming runs", full, start + ErrorLines::kPause),
            "pawl: claiming runs: the disk is full (and 2 more times since the last line)");
  EXPECT_EQ(lines.line("claiming runs", full, start + 2 * ErrorLines::kPause),
            "pawl: claiming runs: the disk is full");
}

// An activity that takes its own database away: what came of it cannot be written.
pawl::Workflow<void> moves(pawl::Context ctx, std::string path) {
  co_await ctx.run(
      "move", [](const std::string& file) { std::filesystem::rename(file, file + ".away"); }, path);
}

// What an engine with these options says on standard error meanwhile.
std::string said_by(const pawl::EngineOptions& options) {
  static std::atomic<int> count = 0;
  const std::filesystem::path root =
      std::filesystem::temp_directory_path() /
      ("pawl-error-lines-" + std::to_string(::getpid()) + "-" + std::to_string(++count));
  std::filesystem::create_directories(root);
  const std::string path = (root / "test.db").string();
  testing::internal::CaptureStderr();
  {
    pawl::Registry registry;
    registry.workflow("moves", moves);
    pawl::Engine engine("sqlite:" + path, registry, options);
    auto run = engine.start(moves, "run", path);
    EXPECT_THROW(run.result(), pawl::StoreError);
    std::filesystem::rename(path + ".away", path);
    run.result();
  }
  std::filesystem::remove_all(root);
  return testing::internal::GetCapturedStderr();
}

TEST(ErrorLines, AreThereUnlessSomebodyElseIsTold) {
  const std::string said = said_by({});
  EXPECT_TRUE(said.starts_with("pawl: ")) << said;
  EXPECT_NE(said.find("was removed, or moved elsewhere"), std::string::npos) << said;
  EXPECT_EQ(said.find('\n'), said.size() - 1) << said;
  auto told = std::make_shared<std::atomic<int>>(0);
  pawl::EngineOptions options;
  options.on_error = [told](std::string_view) { ++*told; };
  EXPECT_EQ(said_by(options), "");
  EXPECT_GT(*told, 0);
}

}  // namespace
