// The servers that the tests start.
#include "postgres/server.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "postgres/support.h"

namespace pawl::store::pg {
namespace {

TEST(ServerTest, KeepsItsDataOverEndsOfAllKinds) {
  PostgresServer server({.tcp = true, .fsync = true, .hba = {}, .settings = {}});
  server.execute("CREATE DATABASE shop");
  server.execute("CREATE TABLE t(k int8)", "shop");
  const std::string url = server.tcp_url("postgres", "shop");
  for (const PostgresServer::Stop how : {PostgresServer::Stop::kSmart, PostgresServer::Stop::kFast,
                                         PostgresServer::Stop::kImmediate}) {
    server.execute("INSERT INTO t VALUES (1)", "shop");
    server.stop(how);
    EXPECT_FALSE(server.is_running());
    server.start();
  }
  server.execute("INSERT INTO t VALUES (1)", "shop");
  server.kill();
  server.start();
  EXPECT_EQ(*connect(url)->query_integer("SELECT count(*) FROM t"), 4);
  EXPECT_EQ(server.query("SHOW fsync"), "on");
  EXPECT_THROW(server.execute("SELECT 1/0"), std::runtime_error);
}

TEST(ServerTest, AStandbyHasWhatWasCommittedAndCanTakeOver) {
  PostgresServer primary;
  primary.execute("CREATE TABLE t(k int8)");
  const std::unique_ptr<PostgresServer> standby = primary.make_standby(false);
  primary.execute("INSERT INTO t VALUES (1)");
  EXPECT_TRUE(comes_true([&] { return standby->query("SELECT count(*) FROM t") == "1"; }));
  EXPECT_THROW(standby->execute("INSERT INTO t VALUES (2)"), std::runtime_error);
  standby->promote();
  standby->execute("INSERT INTO t VALUES (2)");
}

// Also if it cannot say so any more.
TEST(ServerTest, EndsWithTheTest) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t test = ::fork();
  if (test == 0) {
    PostgresServer server;
    const std::string line = std::to_string(server.pid()) + " " + server.directory();
    (void)!::write(ends[1], line.data(), line.size());
    std::raise(SIGKILL);
  }
  ::close(ends[1]);
  char buffer[4096];
  const ssize_t size = ::read(ends[0], buffer, sizeof(buffer));
  ::waitpid(test, nullptr, 0);
  ::close(ends[0]);
  ASSERT_GT(size, 0);
  const std::string line(buffer, static_cast<std::size_t>(size));
  const std::string server = line.substr(0, line.find(' '));
  const std::string directory = line.substr(line.find(' ') + 1);
  // Whoever inherits it may leave it as a zombie, which has no program.
  const std::string program = "/proc/" + server + "/exe";
  std::error_code error;
  EXPECT_TRUE(comes_true([&] { return std::filesystem::read_symlink(program, error).empty(); }));
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace pawl::store::pg
