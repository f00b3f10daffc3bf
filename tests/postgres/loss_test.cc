// Connections that are lost: what is known then of what was sent.
#include <set>

#include "postgres/proxy.h"
#include "postgres/support.h"
#include "store/postgres/postgres_store.h"
#include "store/postgres/writer.h"

namespace pawl::store::pg {
namespace {

using pawl::testing::CuttingProxy;

constexpr Statement kInsert{"insert", "INSERT INTO t VALUES ($1::int8)"};

class LossTest : public ::testing::Test {
 protected:
  void SetUp() override {
    server_.execute("CREATE TABLE t(k int8)");
    connection_ = connect(proxied_url());
  }
  std::string proxied_url() const {
    return "postgresql://postgres@127.0.0.1:" + std::to_string(proxy_.port()) +
           "/postgres?sslmode=disable&gssencmode=disable";
  }
  std::string count() const { return server_.query("SELECT count(*) FROM t"); }

  PostgresServer server_{{.tcp = true, .hba = {}, .settings = {}}};
  CuttingProxy proxy_{server_.port()};
  std::unique_ptr<Connection> connection_;
};

TEST_F(LossTest, ACommitWhoseAnswerIsLostIsUnknown) {
  proxy_.cut_at(CuttingProxy::Cut::kAnswer, "COMMIT");
  Batch batch(*connection_);
  batch.begin();
  batch.add(kInsert).integer(1);
  batch.commit();
  const Error error = error_of(batch.run());
  EXPECT_EQ(error.code, ErrorCode::kUnknownOutcome) << error.message;
  EXPECT_EQ(count(), "1");
  EXPECT_FALSE(connection_->is_open());

  // The same for what commits without saying so.
  EXPECT_OK(connection_->ensure());
  proxy_.cut_at(CuttingProxy::Cut::kAnswer, "INSERT");
  Batch second(*connection_);
  second.add(kInsert).integer(2);
  EXPECT_EQ(error_of(second.run()).code, ErrorCode::kUnknownOutcome);
  EXPECT_EQ(count(), "2");
  EXPECT_OK(connection_->ensure());
  EXPECT_EQ(error_of(connection_->execute("INSERT INTO t VALUES (3)")).code,
            ErrorCode::kUnknownOutcome);
  EXPECT_EQ(count(), "3");
  EXPECT_EQ(connection_->counters().connects, 3U);
}

TEST_F(LossTest, ACommitThatNeverArrivesIsUnknown) {
  proxy_.cut_at(CuttingProxy::Cut::kBefore, "COMMIT");
  Batch batch(*connection_);
  batch.begin();
  batch.add(kInsert).integer(1);
  batch.commit();
  EXPECT_EQ(error_of(batch.run()).code, ErrorCode::kUnknownOutcome);
  EXPECT_EQ(count(), "0");
}

TEST_F(LossTest, ReadingLeavesNothingUnknown) {
  proxy_.cut_at(CuttingProxy::Cut::kAnswer, "COMMIT");
  Batch batch(*connection_, Effect::kReads);
  batch.begin(Isolation::kSnapshot);
  batch.add({"", "SELECT 1"});
  batch.commit();
  EXPECT_EQ(error_of(batch.run()).code, ErrorCode::kStoreIo);
}

TEST_F(LossTest, BeforeTheCommitNothingHasHappened) {
  proxy_.cut_at(CuttingProxy::Cut::kAnswer, "INSERT");
  Batch batch(*connection_);
  batch.begin();
  batch.add(kInsert).integer(1);
  EXPECT_EQ(error_of(batch.run()).code, ErrorCode::kStoreIo);

  EXPECT_OK(connection_->ensure());
  Batch begin(*connection_);
  begin.begin();
  EXPECT_OK(begin.run());
  Batch middle(*connection_);
  middle.add(kInsert).integer(1);
  EXPECT_EQ(error_of(middle.run()).code, ErrorCode::kStoreIo);
  EXPECT_EQ(count(), "0");

  EXPECT_OK(connection_->ensure());
  proxy_.cut_at(CuttingProxy::Cut::kAnswer, "SELECT 77");
  EXPECT_EQ(error_of(connection_->query_integer("SELECT 77")).code, ErrorCode::kStoreIo);
  // Until ensure(), nothing is sent.
  EXPECT_EQ(error_of(connection_->query_integer("SELECT 1")).code, ErrorCode::kStoreIo);
  EXPECT_OK(connection_->ensure());
  EXPECT_EQ(*connection_->query_integer("SELECT 1"), 1);
}

StartRun start_of(const std::string& id) {
  StartRun op;
  op.run.id = id;
  op.run.kind = "order";
  op.run.uuid = *Uuid::parse("01a1e60a-a4c4-7a4f-9e4c-3f78a3e01e" + id);
  return op;
}

template <class T>
Result<void> write(Writer& writer, T& op) {
  std::vector<Op> ops;
  ops.emplace_back(std::move(op));
  Result<void> done = writer.apply(ops);
  op = std::get<T>(std::move(ops[0]));
  return done;
}

// Batches that the end of the server meets while a statement in the middle runs.
class KillTest : public ::testing::TestWithParam<int> {};

TEST_P(KillTest, InTheMiddleOfABatch) {
  PostgresServer server;
  server.execute("CREATE TABLE t(k int8)");
  const std::unique_ptr<Connection> connection = connect(server.url());
  const bool commits = GetParam() % 2 == 1;
  Batch batch(*connection);
  batch.begin();
  for (int i = 0; i < 1'000; ++i) {
    batch.add(kInsert).integer(i);
  }
  batch.add({"", "SELECT pg_sleep(3600)"});
  for (int i = 0; i < 1'000; ++i) {
    batch.add(kInsert).integer(i);
  }
  if (commits) {
    batch.commit();
  }
  Error error;
  std::thread runner([&] { error = error_of(batch.run()); });
  EXPECT_TRUE(comes_true([&] {
    return server.query("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") ==
           "1";
  }));
  switch (GetParam() / 2) {
    case 0:
      server.kill();
      break;
    case 1:
      server.stop(PostgresServer::Stop::kFast);
      break;
    default:
      server.stop(PostgresServer::Stop::kImmediate);
  }
  runner.join();
  // Told by the server that it ends, in answer to what comes before the commit, we know.
  const bool is_told = GetParam() / 2 == 1;
  EXPECT_EQ(error.code, commits && !is_told ? ErrorCode::kUnknownOutcome : ErrorCode::kStoreIo)
      << error.message;
  EXPECT_EQ(error_of(connection->ensure()).code, ErrorCode::kStoreIo);
  server.start();
  EXPECT_OK(connection->ensure());
  EXPECT_EQ(*connection->query_integer("SELECT count(*) FROM t"), 0);
}

INSTANTIATE_TEST_SUITE_P(Ends, KillTest, ::testing::Range(0, 6));

TEST(Restart, IsNoticedBeforeAnythingIsSent) {
  PostgresServer server;
  server.execute("CREATE TABLE t(k int8)");
  const std::unique_ptr<Connection> connection = connect(server.url());
  for (int i = 0; i < 2; ++i) {
    Batch batch(*connection);
    batch.add(kInsert).integer(i);
    EXPECT_OK(batch.run());
    server.stop();
    server.start();
    EXPECT_OK(connection->ensure());
    Batch again(*connection);
    again.add(kInsert).integer(i);
    EXPECT_OK(again.run());
  }
  EXPECT_EQ(*connection->query_integer("SELECT count(*) FROM t"), 4);
  EXPECT_EQ(connection->counters().connects, 3U);
  EXPECT_OK(connection->ensure());
  EXPECT_EQ(connection->counters().connects, 3U);
}

// A process was stopped in the middle of a transaction, and all others waited for its locks until
// somebody let it go on.
TEST(Stopped, LocksAreNotHeldForEver) {
  PostgresServer server({.tcp = true, .hba = {}, .settings = {}});
  server.execute("CREATE TABLE t(k int8)");
  const std::unique_ptr<Connection> usual = connect(server.url());
  Batch look(*usual, Effect::kReads);
  constexpr Statement kShow{
      "show",
      "SELECT string_agg(setting, ' ' ORDER BY name) FROM pg_settings WHERE name IN "
      "('idle_in_transaction_session_timeout', 'tcp_keepalives_idle')"};
  const Call& shown = look.add(kShow);
  EXPECT_OK(look.run());
  EXPECT_EQ(shown.rows()[0].as_string(0), "30000 0");  // No keepalives on a socket of the machine.

  // The same in less time, as the URL has the last word.
  const std::unique_ptr<Connection> stopped =
      connect(server.url("postgres", "options=-c%20idle_in_transaction_session_timeout%3D100ms"));
  Batch begun(*stopped);
  begun.begin();
  begun.add(kInsert).integer(1);
  EXPECT_OK(begun.run());
  EXPECT_TRUE(comes_true([&] {
    return server.query("SELECT count(*) FROM pg_locks WHERE relation = 't'::regclass") == "0";
  }));
  Batch rest(*stopped);
  rest.add(kInsert).integer(2);
  rest.commit();
  EXPECT_FALSE(rest.run().has_value());
  EXPECT_OK(stopped->ensure());
  EXPECT_OK(stopped->execute("INSERT INTO t VALUES (3)"));
  EXPECT_EQ(server.query("SELECT string_agg(k::text, ' ') FROM t"), "3");
}

// A store on a server that may come back with less than it had.
class Return {
 public:
  Return(const PostgresServer& server, const std::string& url, bool has_worker = true)
      : connection_(make_tables_and_connect(url)),
        writer_(*connection_, std::stoll(server.query("SELECT key FROM pawl.pawl_namespace")),
                "channel", "sender") {
    if (has_worker) {
      const Result<WorkerKey> worker = writer_.add_worker({"worker", kNever, 0});
      EXPECT_OK(worker);
      worker_ = worker ? *worker : 0;
    }
    EXPECT_EQ(start("00"), ErrorCode{});
  }

  // What is told of a start.
  ErrorCode start(const std::string& id) {
    StartRun op = start_of(id);
    const Result<void> done = write_one(op);
    return done ? ErrorCode{} : done.error().code;
  }
  Result<void> write_one(StartRun& op) { return write(writer_, op); }
  bool beats() {
    Heartbeat beat{.worker = worker_, .expires_ms = 1};
    return write(writer_, beat).has_value();
  }

 private:
  static std::unique_ptr<Connection> make_tables_and_connect(const std::string& url) {
    EXPECT_OK(open_postgres(options_of(url)));
    return connect(url);
  }

  std::unique_ptr<Connection> connection_;
  Writer writer_;
  WorkerKey worker_ = 0;
};

// What a worker remembered was not in the log any more, and what it wrote next left a hole.
TEST(Return, AfterARestartThatDidNotWaitForTheDiskAllIsReadAgain) {
  PostgresServer server;
  const std::string url = server.url("postgres", "options=-c%20synchronous_commit%3Doff");
  Return worker(server, url);
  Return client(server, url, false);
  Return careful(server, server.url());
  server.stop();
  server.start();
  EXPECT_TRUE(worker.beats());
  EXPECT_EQ(worker.start("01"), ErrorCode::kUnknownOutcome);
  EXPECT_EQ(server.query("SELECT count(*) FROM pawl.pawl_run WHERE id = '01'"), "0");
  EXPECT_EQ(worker.start("01"), ErrorCode{}) << "it has been told";
  EXPECT_EQ(client.start("02"), ErrorCode{}) << "it remembers nothing";
  EXPECT_EQ(careful.start("03"), ErrorCode{}) << "nothing was lost";
}

TEST(Return, AfterAPromotionAllIsReadAgain) {
  PostgresServer primary({.tcp = true, .hba = {}, .settings = {}});
  const std::unique_ptr<PostgresServer> standby = primary.make_standby(false);
  const auto address = [](const PostgresServer& of) {
    return "127.0.0.1:" + std::to_string(of.port());
  };
  Return worker(primary, "postgresql://postgres@" + address(primary) + "," + address(*standby) +
                             "/postgres?target_session_attrs=read-write");
  EXPECT_TRUE(comes_true([&] {
    return standby->query("SELECT count(*) FROM pg_tables WHERE tablename = 'pawl_run'") == "1" &&
           standby->query("SELECT count(*) FROM pawl.pawl_run") == "1";
  }));
  primary.kill();
  standby->promote();
  EXPECT_EQ(worker.start("01"), ErrorCode::kUnknownOutcome);
  EXPECT_EQ(worker.start("01"), ErrorCode{});
}

// What a commit is refused for.
class AtCommit : public ::testing::Test {
 protected:
  // Of a table that functions in transactions write to.
  void refuse_by(const std::string& sql) { server_.execute("CREATE TABLE own(k int8); " + sql); }

  Result<void> write_own() {
    EXPECT_OK(open_postgres(options_of(server_.url())));
    const std::unique_ptr<Connection> connection = connect(server_.url());
    Writer writer(*connection, std::stoll(server_.query("SELECT key FROM pawl.pawl_namespace")),
                  "channel", "sender");
    StartRun start = start_of("00");
    start.owner = *writer.add_worker({"worker", kNever, 0});
    EXPECT_OK(pg::write(writer, start));
    CommitTurn turn;
    turn.run = start.row.key;
    turn.worker = start.owner;
    turn.epoch = start.row.epoch;
    turn.inside = [&](Database& database, CommitTurn&) -> Result<void> {
      ++calls_;
      return database.execute("INSERT INTO own VALUES (1)");
    };
    return pg::write(writer, turn);
  }

  PostgresServer server_;
  int calls_ = 0;
};

// It was taken for one of the tables of Pawl, and the function was called again and again.
TEST_F(AtCommit, AConstraintOfSomebodyElseIsNotTriedAgain) {
  refuse_by(
      "ALTER TABLE own ADD UNIQUE (k) DEFERRABLE INITIALLY DEFERRED; INSERT INTO own VALUES (1)");
  EXPECT_EQ(error_of(write_own()).code, ErrorCode::kInvalidState);
  EXPECT_EQ(calls_, 1);
}

// A queue of notices that is full was taken for a payload that is too large.
TEST_F(AtCommit, LimitsOfTheServerGoAway) {
  refuse_by(
      "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE 'too many "
      "notices' "
      "USING ERRCODE = '54000'; END$$; CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON own "
      "DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()");
  EXPECT_EQ(error_of(write_own()).code, ErrorCode::kStoreBusy);
  EXPECT_EQ(calls_, 1);
}

TEST(Names, ThatAreTooLongForAnIndexAreToldSo) {
  PostgresServer server;
  Return store(server, server.url());
  std::string name;  // That cannot be made shorter.
  for (std::uint32_t i = 0; name.size() < 6'000; ++i) {
    name += std::to_string(i * 2'654'435'761U);
  }
  StartRun op = start_of("01");
  op.run.tags = {{"tag", name}};
  const Error error = error_of(store.write_one(op));
  EXPECT_EQ(error.code, ErrorCode::kLimitExceeded);
  EXPECT_TRUE(contains(error.message, "2,600 bytes")) << error.message;
}

// The numbers of runs that a store had drawn were given to others after a crash of the server, and
// both used them.
TEST(Crash, NumbersThatWereDrawnBeforeItAreNotUsed) {
  // What is not committed stays in memory.
  PostgresServer server({.tcp = true, .hba = {}, .settings = {{"wal_writer_delay", "10s"}}});
  EXPECT_OK(open_postgres(options_of(server.url())));  // Makes the tables.
  CuttingProxy proxy(server.port());
  const std::unique_ptr<Connection> cut =
      connect("postgresql://postgres@127.0.0.1:" + std::to_string(proxy.port()) +
              "/postgres?sslmode=disable&gssencmode=disable");
  const std::unique_ptr<Connection> direct = connect(server.url());
  const std::int64_t ns = std::stoll(server.query("SELECT key FROM pawl.pawl_namespace"));
  Writer writer(*cut, ns, "channel", "one");
  Writer other(*direct, ns, "channel", "other");
  // Returns its number; 0: it did not work.
  const auto start = [](Writer& by, const std::string& id) {
    StartRun op = start_of(id);
    return write(by, op).has_value() ? op.row.key : RunKey{0};
  };

  proxy.cut_at(CuttingProxy::Cut::kBefore, "insert_run");
  EXPECT_EQ(start(writer, "00"), 0);
  proxy.cut_at(CuttingProxy::Cut::kNever, "");
  server.kill();
  server.start();
  std::set<RunKey> keys;
  for (int i = 10; i < 20; ++i) {
    keys.insert(start(other, std::to_string(i)));
  }
  keys.insert(start(writer, "00"));
  EXPECT_EQ(keys.size(), 11U);
  EXPECT_FALSE(keys.contains(0));
}

}  // namespace
}  // namespace pawl::store::pg
