// The code that docs/guide quotes about production, by region; and tests that hold docs/errors to
// what is really printed.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include <boost/describe.hpp>
#include <gtest/gtest.h>
#include <pawl/pawl.hpp>
#include <pawl/testing.hpp>

// [own-codec]
namespace shop {
struct Percent {
  int value = 0;
};
}  // namespace shop

template <>
struct pawl::Codec<shop::Percent> {
  static std::string encode(const shop::Percent& percent) { return std::to_string(percent.value); }
  static shop::Percent decode(std::string_view payload) {
    return {std::stoi(std::string(payload))};  // May throw: it becomes a PayloadError.
  }
};
// [/own-codec]

// [described]
namespace shop {
struct Address {
  std::string street;
  std::optional<std::string> floor;  // Added later: what is missing keeps its default.
};
BOOST_DESCRIBE_STRUCT(Address, (), (street, floor))
}  // namespace shop
// [/described]

namespace {

using namespace std::chrono_literals;

class TempDir {
 public:
  TempDir() {
    std::string name = (std::filesystem::temp_directory_path() / "pawl-docs-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  std::string url() const { return "sqlite:" + path_ + "/shop.db"; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// --- Production ----------------------------------------------------------------------------------

// [codec]
// Not a cipher: use a library for one. It shows where it goes.
class Rotate final : public pawl::PayloadCodec {
 public:
  explicit Rotate(std::string name, char by) : name_(std::move(name)), by_(by) {}
  std::string name() const override { return name_; }  // Stored with each payload.
  std::string encode(std::string_view bytes) const override { return shifted(bytes, by_); }
  std::string decode(std::string_view bytes) const override {
    return shifted(bytes, static_cast<char>(-by_));
  }

 private:
  static std::string shifted(std::string_view bytes, char by) {
    std::string result(bytes);
    for (char& byte : result) {
      byte = static_cast<char>(byte + by);
    }
    return result;
  }
  std::string name_;
  char by_;
};
// [/codec]

pawl::Workflow<std::string> echo(pawl::Context ctx, std::string text) {
  co_await ctx.signal("go");
  co_return text;
}

pawl::Registry shop() {
  pawl::Registry registry;
  registry.workflow("echo", echo);
  return registry;
}

TEST(Operations, KeysCanBeChanged) {
  const TempDir dir;
  const std::string url = dir.url();
  {
    pawl::Engine engine(url, shop(), {.payload_codec = std::make_shared<Rotate>("key-1", 1)});
    engine.start(echo, "e", "secret");
  }
  // [codec-change]
  pawl::EngineOptions options;
  options.payload_codec = std::make_shared<Rotate>("key-2", 2);  // Writes, and reads its own.
  options.old_codecs = {std::make_shared<Rotate>("key-1", 1)};   // Reads what is there.
  pawl::Engine engine(url, shop(), options);
  // [/codec-change]
  auto run = engine.get<std::string>("e");
  run.signal("go");
  EXPECT_EQ(run.result(), "secret");
}

TEST(Operations, OldRunsGo) {
  // [retention]
  pawl::EngineOptions options;
  options.retention = {.completed = 30 * 24h, .failed = 365 * 24h};  // The others stay.
  // [/retention]
  const pawl::Registry registry = shop();
  pawl::testing::Environment env(registry, {.engine = options});
  auto run = env.start(echo, "e", "x");
  run.signal("go");
  EXPECT_EQ(run.result(), "x");
  env.advance(29 * 24h);
  EXPECT_EQ(env.count(), 1);
  env.advance(2 * 24h);
  EXPECT_EQ(env.count(), 0);
}

pawl::Workflow<std::string> reduced(pawl::Context ctx, shop::Percent percent) {
  const auto address = co_await ctx.signal<shop::Address>("address");
  co_return address.street + address.floor.value_or("") + std::to_string(percent.value);
}

TEST(Operations, OwnTypes) {
  pawl::Registry registry;
  registry.workflow("reduced", reduced);
  pawl::testing::Environment env(registry, {.replay_every_turn = true});
  auto run = env.start(reduced, "r", shop::Percent{20});
  run.signal("address", nlohmann::json{{"street", "Elm Row "}});
  EXPECT_EQ(run.result(), "Elm Row 20");
}

// [worker]
// A process that works until somebody ends it.
int work(const std::string& url, const pawl::Registry& registry) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);  // Before the engine starts its threads.
  try {
    pawl::Engine engine(url, registry,
                        {.queues = {{.name = "default"}, {.name = "video", .concurrency = 4}},
                         .on_error = [](std::string_view what) {
                           std::cerr << "shop: " << what << std::endl;  // Or your own log.
                         }});
    int received = 0;
    sigwait(&ends, &received);
    engine.stop();  // Waits for what is under way, and gives the runs back.
  } catch (const pawl::Exception& error) {
    std::cerr << "shop: " << error.what() << std::endl;
    return 1;
  }
  return 0;
}
// [/worker]

// [client]
// A process that only asks and tells: it needs no workflow code.
std::string place_order(const std::string& url, const std::string& id, const std::string& text) {
  pawl::Engine client(url, pawl::Registry(), {.work = false});
  auto run = client.start<std::string>("echo", id, text, {.tags = {{"channel", "web"}}});
  return std::string(pawl::to_string(run.status()));
}
// [/client]

// Ended at the latest when the test is.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  ~Child() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  // Asks it to end; its exit code, or -1.
  int end() {
    ::kill(pid_, SIGTERM);
    int status = 0;
    const pid_t ended = ::waitpid(std::exchange(pid_, 0), &status, 0);
    return ended > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_;
};

TEST(Operations, AWorkerStopsWhenItIsToldTo) {
  const TempDir dir;
  EXPECT_EQ(place_order(dir.url(), "order-1", "x"), "running");
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::_exit(work(dir.url(), shop()));
  }
  Child child(pid);
  pawl::Engine client(dir.url(), pawl::Registry(), {.work = false});
  auto run = client.get<std::string>("order-1");
  run.signal("go");
  EXPECT_EQ(run.result_for(60s), "x");
  EXPECT_EQ(child.end(), 0);
}

// [fingerprint]
pawl::Registry with_fingerprint(const std::string& fingerprint) {
  pawl::Registry registry;
  registry.workflow("echo", echo,
                    {.fingerprint = fingerprint,  // PAWL_FINGERPRINT, out of pawl_fingerprint().
                     .on_change = pawl::OnChange::kVerify});
  return registry;
}
// [/fingerprint]

TEST(Operations, Fingerprints) {
  pawl::testing::Environment env(with_fingerprint("sha256:1"));
  auto run = env.start(echo, "e", "x");
  run.signal("go");
  EXPECT_EQ(run.result(), "x");
}

// --- docs/errors ---------------------------------------------------------------------------------

using pawl::Context;
using pawl::StepKind;
using pawl::Workflow;
using pawl::testing::HistoryBuilder;

Workflow<void> pauses_first(Context ctx) {
  co_await ctx.timer(1s, {.id = "pause"});
  co_await ctx.schedule("charge");
}
Workflow<void> ships_first(Context ctx) {
  co_await ctx.schedule("reserve");
  co_await ctx.schedule("ship");
}
Workflow<void> old_version(Context ctx) {
  co_await ctx.schedule("reserve");
  co_await ctx.schedule("charge");
}
Workflow<void> removes_the_wrong_one(Context ctx) {
  co_await ctx.schedule("reserve");
  ctx.removed(StepKind::kTask, "send mail");
  co_await ctx.schedule("ship");
}
Workflow<void> ends_early(Context ctx) { co_await ctx.schedule("reserve"); }
Workflow<void> fails(Context ctx) {
  co_await ctx.schedule("reserve");
  throw std::runtime_error("sold out");
}

std::string without_lines(const std::string& text) {
  return std::regex_replace(text, std::regex(R"(\.cc:\d+)"), ".cc:LINE");
}

// The id of a run that there was is another one each time.
std::string without_run(const std::string& report) {
  return std::regex_replace(report, std::regex(R"(run( +)[-0-9a-f]{36})"),
                            "run$0100000000-0000-0000-0000-000000000000");
}

std::string page(const std::string& name) {
  std::ifstream file("docs/errors/" + name + ".md");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void expect_page_shows(const std::string& name, const std::string& text) {
  EXPECT_NE(without_lines(page(name)).find(without_lines(text)), std::string::npos)
      << "docs/errors/" << name << ".md does not show this:\n"
      << text;
}

TEST(Errors, PagesShowTheReportsAsTheyAre) {
  const auto reserved = [] { return HistoryBuilder().task("reserve").completed("{1}"); };
  expect_page_shows("PAWL-1001", check(pauses_first, reserved().build()).violation);
  expect_page_shows("PAWL-1002", check(ships_first, reserved().task("charge").build()).violation);
  expect_page_shows(
      "PAWL-1003",
      check(old_version, reserved().version(2).task("check fraud").task("charge").build())
          .violation);
  expect_page_shows("PAWL-1004",
                    check(removes_the_wrong_one, reserved().task("charge").build()).violation);
  expect_page_shows("PAWL-1005", check(ends_early, reserved().task("charge").build()).violation);

  pawl::Registry registry;
  registry.workflow("ends_early", ends_early);
  pawl::testing::Environment env(registry);
  env.fake("reserve", [] {});
  env.start(ends_early, "r").result();
  expect_page_shows("PAWL-1006", without_run(check(old_version, env.history("r")).violation));
  expect_page_shows("PAWL-1007", without_run(check(fails, env.history("r")).violation));
}

template <class Call>
std::string message_of(const Call& call) {
  try {
    call();
  } catch (const pawl::Exception& error) {
    return error.what();
  }
  return "nothing was thrown";
}

Workflow<std::string> collects(Context ctx) {
  co_await ctx.promise("answer");
  co_return co_await ctx.signal<std::string>("go");
}

TEST(Errors, PagesShowTheMessagesAsTheyAre) {
  pawl::Registry registry = shop();
  registry.workflow("collects", collects);
  pawl::testing::Options options;
  options.engine.payload_bytes_max = 1000;
  pawl::testing::Environment env(registry, options);
  auto run = env.start(collects, "order-17");
  env.run_until_idle();
  expect_page_shows("NotFound", message_of([&] { env.get("order-18"); }));
  expect_page_shows("NotFound", message_of([&] { env.resolve("order-17", "anwser"); }));
  expect_page_shows("AlreadyExists", message_of([&] { env.start(echo, "order-17", "x"); }));
  expect_page_shows("TimedOut", message_of([&] { run.result_for(1h); }));
  expect_page_shows("PayloadTooLarge",
                    message_of([&] { run.signal("go", std::string(2000, 'x')); }));
  env.resolve("order-17", "answer");
  env.run_until_idle();
  expect_page_shows("AlreadyExists", message_of([&] { env.resolve("order-17", "answer"); }));
  run.signal("go", 17);
  expect_page_shows("PayloadError", message_of([&] { run.result(); }));
  expect_page_shows("Closed", message_of([&] { run.signal("go", "late"); }));
  auto cancelled = env.start(echo, "order-19", "x");
  env.run_until_idle();
  cancelled.cancel("the shop is closed");
  expect_page_shows("WorkflowCancelled", message_of([&] { cancelled.result(); }));
  expect_page_shows("UsageError", message_of([&] { env.resolve_token("nonsense"); }));
  expect_page_shows("UsageError", message_of([&] { pawl::Engine("mysql:shop", registry); }));
  expect_page_shows("StoreError",
                    message_of([&] { pawl::Engine("sqlite:/no/such/folder/shop.db", registry); }));
}

}  // namespace
