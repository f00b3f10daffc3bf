// Opening connections, and what the errors of a server become.
#include "store/postgres/connection.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <vector>

#include "postgres/support.h"
#include "store/postgres/growing_pause.h"
#include "store/postgres/server_error.h"

namespace pawl::store::pg {
namespace {

Error refused(const std::string& url) { return error_of(Connection::open(options_of(url))); }

TEST(Connect, SaysWhatIsMissing) {
  PostgresServer server({.tcp = true,
                         .hba = "host all guarded 127.0.0.1/32 scram-sha-256\n"
                                "host all barred 127.0.0.1/32 reject",
                         .settings = {}});
  server.execute("CREATE ROLE guarded LOGIN PASSWORD 'hunter2'");
  server.execute("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
  const struct {
    std::string url;
    ErrorCode code;
    const char* what;
  } cases[] = {
      {server.url("nowhere"), ErrorCode::kStoreUnusable, "\"nowhere\" does not exist"},
      {server.tcp_url("nobody_here"), ErrorCode::kStoreUnusable, "nobody_here"},
      {server.tcp_url("guarded:wrong_secret"), ErrorCode::kStoreUnusable,
       "check the user and its password"},
      {server.tcp_url("guarded"), ErrorCode::kStoreUnusable, "check the user and its password"},
      {server.tcp_url("barred:wrong_secret"), ErrorCode::kStoreUnusable, "pg_hba.conf"},
      {server.url("latin"), ErrorCode::kStoreUnusable, "ENCODING 'UTF8'"},
      {"postgresql://a:wrong_secret@host.invalid/x", ErrorCode::kStoreIo, "host.invalid"},
      {"postgresql://a:wrong_secret@127.0.0.1:1/x", ErrorCode::kStoreIo,
       "check that the server runs"},
      {"postgresql://a:wrong_secret@%2Fnowhere/x", ErrorCode::kStoreIo, "/nowhere"},
      // One of two cannot be reached, so it may get better.
      {"postgresql://postgres@127.0.0.1,127.0.0.1:1," + std::to_string(server.port()) + "/nowhere",
       ErrorCode::kStoreIo, "nowhere"},
  };
  for (const auto& [url, code, what] : cases) {
    const Error error = refused(url);
    EXPECT_EQ(error.code, code) << error.message;
    EXPECT_TRUE(contains(error.message, what)) << error.message;
    EXPECT_FALSE(contains(error.message, "wrong_secret")) << error.message;
    EXPECT_FALSE(contains(error.message, "\n")) << error.message;
  }
  EXPECT_OK(Connection::open(options_of(server.tcp_url("guarded:hunter2"))));

  const std::string passwords = server.directory() + "/passwords";
  std::ofstream(passwords) << "*:*:*:guarded:hunter2\n";
  std::filesystem::permissions(passwords, std::filesystem::perms::owner_read);
  ASSERT_EQ(::setenv("PGPASSFILE", passwords.c_str(), 1), 0);
  EXPECT_OK(Connection::open(options_of(server.tcp_url("guarded"))));
  ::unsetenv("PGPASSFILE");
}

// Lets one client in, as a server of another age.
class OldServer {
 public:
  OldServer() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener_, 1), 0);
    EXPECT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~OldServer() {
    thread_.join();
    ::close(listener_);
  }
  OldServer(const OldServer&) = delete;
  OldServer& operator=(const OldServer&) = delete;
  std::string port() const { return std::to_string(port_); }

 private:
  void serve() const {
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    char buffer[4096];
    EXPECT_GT(::recv(client, buffer, sizeof(buffer), 0), 0);
    // Authentication is not needed; a setting; ready.
    constexpr std::string_view kHello(
        "R\0\0\0\x08\0\0\0\0"
        "S\0\0\0\x19"
        "server_version\0"
        "12.22\0"
        "Z\0\0\0\x05I",
        41);
    EXPECT_EQ(::send(client, kHello.data(), kHello.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(kHello.size()));
    while (::recv(client, buffer, sizeof(buffer), 0) > 0) {
    }
    ::close(client);
  }

  const int listener_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

TEST(Connect, OldServersAreRefused) {
  const OldServer server;
  const Error error = refused("postgresql://x@127.0.0.1:" + server.port() +
                              "/x?sslmode=disable&gssencmode=disable");
  EXPECT_EQ(error.code, ErrorCode::kStoreUnusable) << error.message;
  EXPECT_TRUE(contains(error.message, "is PostgreSQL 12; Pawl needs version 13 or later"))
      << error.message;
}

TEST(Connect, TlsIsAsTheUrlSays) {
  PostgresServer server({.tcp = true, .tls = true, .hba = {}, .settings = {}});
  const std::string strict =
      server.tcp_url() + "?sslmode=verify-full&sslrootcert=" + server.directory() + "/data/";
  const std::unique_ptr<Connection> connection = connect(strict + "server.crt");
  EXPECT_EQ(*connection->query_integer(
                "SELECT count(*) FROM pg_stat_ssl WHERE ssl AND pid = pg_backend_pid()"),
            1);
  const Error error = refused(strict + "no-such.crt");
  EXPECT_EQ(error.code, ErrorCode::kStoreIo);
  EXPECT_TRUE(contains(error.message, "no-such.crt")) << error.message;

  // Answers of all sizes around those of records and buffers, then large ones both ways.
  Batch batch(*connection, Effect::kReads);
  const std::string bytes(10'000, 'x');
  std::vector<const Call*> calls;
  for (int size = 0; size < 2'000; ++size) {
    calls.push_back(&batch.add({"tls_repeat", "SELECT repeat('x', $1::int4)"}).integer4(size * 37));
    batch.add({"tls_echo", "SELECT $1::bytea"}).bytes(bytes);
  }
  EXPECT_OK(batch.run());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    ASSERT_EQ(calls[i]->rows()[0].as_bytes(0).size(), i * 37);
  }
  server.stop();
  server.start();
  EXPECT_OK(connection->ensure());
  EXPECT_EQ(connection->counters().connects, 2U);
  EXPECT_OK(connection->ensure());
  EXPECT_EQ(connection->counters().connects, 2U);
}

TEST(Connect, TriesEachHost) {
  PostgresServer server({.tcp = true, .hba = {}, .settings = {}});
  const std::unique_ptr<Connection> connection = connect(
      "postgresql://postgres@127.0.0.1,127.0.0.1/postgres?target_session_attrs=read-write&"
      "port=1," +
      std::to_string(server.port()));
  EXPECT_EQ(*connection->query_integer("SELECT 1"), 1);
  EXPECT_EQ(connection->place(), "127.0.0.1:" + std::to_string(server.port()) + "/postgres");
  EXPECT_GE(connection->server_version(), 130000);
}

TEST(Connect, RefusalsForWantOfConnectionsAreTemporary) {
  PostgresServer server({.hba = {},
                         .settings = {{"max_connections", "4"},
                                      {"superuser_reserved_connections", "0"},
                                      {"max_wal_senders", "0"}}});
  std::vector<std::unique_ptr<Connection>> open;
  std::optional<Error> error;
  while (!error.has_value()) {
    Result<std::unique_ptr<Connection>> connection = Connection::open(options_of(server.url()));
    if (connection) {
      open.push_back(std::move(*connection));
    } else {
      error = connection.error();
    }
    ASSERT_LE(open.size(), 4U);
  }
  EXPECT_EQ(error->code, ErrorCode::kStoreBusy) << error->message;
  EXPECT_TRUE(contains(error->message, "max_connections")) << error->message;
}

TEST(ServerErrors, BecomePawls) {
  PostgresServer server;
  server.execute("CREATE ROLE poor LOGIN; CREATE TABLE t(k int8); INSERT INTO t VALUES (1)");
  std::string url = server.url();
  url.replace(url.find("postgres@"), 8, "poor");
  const std::unique_ptr<Connection> poor = connect(url);
  const Error error = error_of(poor->execute("SELECT * FROM t"));
  EXPECT_EQ(error.code, ErrorCode::kStoreUnusable);
  EXPECT_TRUE(contains(error.message, "permission denied for table t")) << error.message;
  EXPECT_TRUE(contains(error.message, poor->place())) << error.message;

  const std::unique_ptr<Connection> holder = connect(server.url());
  Batch lock(*holder);
  lock.begin();
  lock.add({"", "SELECT * FROM t FOR UPDATE"});
  EXPECT_OK(lock.run());
  const std::unique_ptr<Connection> waiter = connect(server.url());
  for (const char* const limit :
       {"SET LOCAL lock_timeout = 1", "SET LOCAL statement_timeout = 1"}) {
    Batch wait(*waiter);
    wait.begin();
    wait.add({"", limit});
    wait.add({"", "SELECT * FROM t FOR UPDATE"});
    wait.commit();
    EXPECT_EQ(error_of(wait.run()).code, ErrorCode::kStoreBusy);
  }
  for (const auto& [state, code] : std::initializer_list<std::pair<const char*, ErrorCode>>{
           {"40001", ErrorCode::kStoreBusy},
           {"40P01", ErrorCode::kStoreBusy},
           {"53100", ErrorCode::kStoreFull},
           {"53200", ErrorCode::kStoreBusy},
           {"XX001", ErrorCode::kStoreCorrupt},
           {"XX002", ErrorCode::kStoreCorrupt},
           {"58030", ErrorCode::kStoreIo},
           {"54000", ErrorCode::kLimitExceeded},
           {"40003", ErrorCode::kUnknownOutcome},
       }) {
    Batch raise(*waiter);
    const std::string sql =
        "DO $$BEGIN RAISE 'made up' USING ERRCODE = '" + std::string(state) + "'; END$$";
    raise.add({"", sql});
    EXPECT_EQ(error_of(raise.run()).code, code) << state;
    EXPECT_EQ(error_of(waiter->execute(sql)).code, code) << state;
    EXPECT_EQ(raise.sqlstate(), state);
  }
  EXPECT_EQ(*waiter->query_integer("SELECT 1"), 1);
}

TEST(ServerErrors, AreOneLine) {
  EXPECT_EQ(
      one_line("a failed: FATAL:  3D000: no such thing\nLOCATION:  f, x.c:1\n\tIs it there?\n"),
      "a failed: FATAL: no such thing; Is it there?");
  EXPECT_EQ(one_line(""), "");
}

TEST(Execute, RunsScriptsInOneTransaction) {
  PostgresServer server;
  const std::unique_ptr<Connection> connection = connect(server.url("postgres", "schema=Mine"));
  EXPECT_OK(
      connection->execute("CREATE SCHEMA {schema}; CREATE TABLE {schema}.a(k int8); "
                          "INSERT INTO {schema}.a VALUES (1)"));
  EXPECT_EQ(error_of(connection->execute("INSERT INTO {schema}.a VALUES (2); SELECT 1/0")).code,
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(*connection->query_integer("SELECT count(*) FROM \"Mine\".a"), 1);
}

TEST(Standby, IsLeftForThePrimary) {
  PostgresServer primary({.tcp = true, .hba = {}, .settings = {}});
  primary.execute("CREATE TABLE t(k int8)");
  const std::unique_ptr<PostgresServer> standby = primary.make_standby(true);
  const auto url = [&](const char* attributes) {
    return "postgresql://postgres@127.0.0.1:" + std::to_string(standby->port()) +
           ",127.0.0.1:" + std::to_string(primary.port()) +
           "/postgres?target_session_attrs=" + attributes;
  };
  // Nobody has said that it has to be the primary.
  const std::unique_ptr<Connection> reader = connect(url("any"));
  const Error error = error_of(reader->execute("INSERT INTO t VALUES (1)"));
  EXPECT_EQ(error.code, ErrorCode::kStoreIo);
  EXPECT_TRUE(contains(error.message, "target_session_attrs=read-write")) << error.message;
  EXPECT_FALSE(reader->is_open());

  const std::unique_ptr<Connection> writer = connect(url("read-write"));
  EXPECT_OK(writer->execute("INSERT INTO t VALUES (1)"));
  primary.kill();
  standby->execute("ALTER SYSTEM RESET synchronous_standby_names");
  standby->promote();
  EXPECT_TRUE(comes_true([&] { return writer->ensure().has_value(); }));
  EXPECT_EQ(*writer->query_integer("SELECT count(*) FROM t"), 1);  // What was answered is there.
  EXPECT_OK(writer->execute("INSERT INTO t VALUES (2)"));
}

TEST(Pause, GrowsUpToALimit) {
  GrowingPause pause;
  EXPECT_EQ(pause.next_ms(), 50);
  EXPECT_EQ(pause.next_ms(), 100);
  for (int i = 0; i < 100; ++i) {
    pause.next_ms();
  }
  EXPECT_EQ(pause.next_ms(), GrowingPause::kMaxMs);
  pause.reset();
  EXPECT_EQ(pause.next_ms(), 50);
}

}  // namespace
}  // namespace pawl::store::pg
