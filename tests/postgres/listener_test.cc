// Listeners: notices, own ones, restarts.
#include "store/postgres/listener.h"

#include <mutex>

#include "postgres/support.h"

namespace pawl::store::pg {
namespace {

// What a listener has told.
class Heard {
 public:
  Listener::Options options(const std::string& channel, const std::string& sender = {}) {
    return {.channel = channel,
            .own_sender = sender,
            .on_notice =
                [this](std::string_view text) {
                  const std::lock_guard lock(mutex_);
                  notices_.emplace_back(text);
                },
            .on_connected =
                [this] {
                  const std::lock_guard lock(mutex_);
                  ++connected_;
                },
            .on_error =
                [this](const Error& error) {
                  const std::lock_guard lock(mutex_);
                  errors_.push_back(error);
                }};
  }
  std::vector<std::string> notices() const {
    const std::lock_guard lock(mutex_);
    return notices_;
  }
  int connected() const {
    const std::lock_guard lock(mutex_);
    return connected_;
  }
  std::vector<Error> errors() const {
    const std::lock_guard lock(mutex_);
    return errors_;
  }
  bool hears(const std::string& text) const {
    return comes_true([&] {
      const std::vector<std::string> all = notices();
      return std::find(all.begin(), all.end(), text) != all.end();
    });
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> notices_;
  std::vector<Error> errors_;
  int connected_ = 0;
};

Result<void> notify(Connection& connection, std::string_view channel, std::string_view sender,
                    std::string_view text) {
  PAWL_TRY(connection.ensure());
  Batch batch(connection);
  batch.notify({channel, sender, text});
  return batch.run();
}

TEST(ListenerTest, TellsTheNoticesOfOthersOnItsChannel) {
  PostgresServer server;
  Heard heard;
  const Listener listener(options_of(server.url()), heard.options("Pawl \"1\"", "me"));
  EXPECT_TRUE(comes_true([&] { return heard.connected() == 1; }));
  const std::unique_ptr<Connection> connection = connect(server.url());
  EXPECT_OK(notify(*connection, "Pawl \"1\"", "me", "mine"));
  EXPECT_OK(notify(*connection, "pawl", "you", "elsewhere"));
  EXPECT_OK(notify(*connection, "Pawl \"1\"", "menace", "a text with spaces"));
  EXPECT_OK(notify(*connection, "Pawl \"1\"", "you", ""));
  EXPECT_OK(notify(*connection, "Pawl \"1\"", "you", "last"));
  EXPECT_TRUE(heard.hears("last"));
  EXPECT_EQ(heard.notices(), (std::vector<std::string>{"a text with spaces", "", "last"}));
  EXPECT_TRUE(heard.errors().empty());
}

TEST(ListenerTest, HearsOfWhatIsCommittedOnly) {
  PostgresServer server;
  Heard heard;
  const Listener listener(options_of(server.url()), heard.options("c"));
  EXPECT_TRUE(comes_true([&] { return heard.connected() == 1; }));
  const std::unique_ptr<Connection> connection = connect(server.url());
  Batch undone(*connection);
  undone.begin();
  undone.notify({"c", "you", "undone"});
  EXPECT_OK(undone.run());
  connection->rollback();
  EXPECT_OK(notify(*connection, "c", "you", "done"));
  EXPECT_TRUE(heard.hears("done"));
  EXPECT_EQ(heard.notices(), std::vector<std::string>{"done"});
}

TEST(ListenerTest, GoesOnAfterRestarts) {
  PostgresServer server;
  Heard heard;
  const Listener listener(options_of(server.url()), heard.options("c"));
  const std::unique_ptr<Connection> connection = connect(server.url());
  for (int i = 1; i <= 3; ++i) {
    EXPECT_TRUE(comes_true([&] { return heard.connected() == i; }));
    const std::string text = "notice " + std::to_string(i);
    EXPECT_OK(notify(*connection, "c", "you", text));
    EXPECT_TRUE(heard.hears(text));
    const std::size_t errors = heard.errors().size();
    if (i % 2 == 0) {
      server.kill();
    } else {
      server.stop();
    }
    EXPECT_TRUE(comes_true([&] { return heard.errors().size() > errors + 1; }));
    server.start();
  }
  EXPECT_TRUE(comes_true([&] { return heard.connected() == 4; }));
  for (const Error& error : heard.errors()) {
    EXPECT_EQ(error.code, ErrorCode::kStoreIo) << error.message;
  }
}

TEST(ListenerTest, TellsOthersButNotItself) {
  PostgresServer server;
  Heard mine;
  Heard theirs;
  Listener me(options_of(server.url()), mine.options("It's \"c\"", "me"));
  const Listener they(options_of(server.url()), theirs.options("It's \"c\"", "they"));
  EXPECT_TRUE(comes_true([&] { return mine.connected() == 1 && theirs.connected() == 1; }));
  me.tell("it's done");
  EXPECT_TRUE(theirs.hears("it's done"));
  // What comes with the answer to what is told is heard at once.
  const std::unique_ptr<Connection> connection = connect(server.url());
  for (int i = 0; i < 100; ++i) {
    me.tell("i" + std::to_string(i));
    EXPECT_OK(notify(*connection, "It's \"c\"", "you", std::to_string(i)));
    EXPECT_TRUE(mine.hears(std::to_string(i)));
  }
  EXPECT_TRUE(theirs.hears("i99"));
  EXPECT_EQ(mine.notices().size(), 100U);
}

TEST(ListenerTest, TellsEqualTextsThatComeAtOnceOnce) {
  PostgresServer server;
  Heard heard;
  const Listener other(options_of(server.url()), heard.options("c"));
  {
    Heard mine;
    Listener me(options_of(server.url()), mine.options("c", "me"));
    EXPECT_TRUE(comes_true([&] { return mine.connected() == 1 && heard.connected() == 1; }));
    for (int i = 0; i < 100'000; ++i) {
      me.tell("again");
    }
    me.tell("last");
  }
  // What was left was told when it went.
  EXPECT_TRUE(heard.hears("last"));
  EXPECT_LT(heard.notices().size(), 1000U);
}

TEST(ListenerTest, TellsAfterARestartWhatItCouldNotBefore) {
  PostgresServer server;
  Heard mine;
  Heard theirs;
  Listener me(options_of(server.url()), mine.options("c", "me"));
  EXPECT_TRUE(comes_true([&] { return mine.connected() == 1; }));
  server.kill();
  EXPECT_TRUE(comes_true([&] { return !mine.errors().empty(); }));
  me.tell("done");
  server.start();
  // Whoever has connected looks for what it may have missed: only who is there already is told.
  const Listener they(options_of(server.url()), theirs.options("c", "they"));
  EXPECT_TRUE(comes_true([&] { return mine.connected() == 2 && theirs.connected() == 1; }));
  me.tell("done again");
  EXPECT_TRUE(theirs.hears("done again"));
}

TEST(ListenerTest, SendsNothingWhileItWaits) {
  PostgresServer server;
  Heard heard;
  const Listener listener(options_of(server.url()), heard.options("c"));
  EXPECT_TRUE(comes_true([&] { return heard.connected() == 1; }));
  const char* const state =
      "SELECT query || state_change FROM pg_stat_activity WHERE query LIKE 'LISTEN%'";
  const std::string before = server.query(state);
  EXPECT_TRUE(contains(before, "LISTEN \"c\"")) << before;
  const std::unique_ptr<Connection> connection = connect(server.url());
  for (int i = 0; i < 100; ++i) {
    EXPECT_OK(notify(*connection, "c", "you", std::to_string(i)));
  }
  EXPECT_TRUE(heard.hears("99"));
  EXPECT_EQ(heard.notices().size(), 100U);
  EXPECT_EQ(server.query(state), before);
}

TEST(ListenerTest, CanBeEndedWhileItCannotConnect) {
  Heard heard;
  {
    const Listener listener(options_of("postgresql://x@127.0.0.1:1/x"), heard.options("c"));
    EXPECT_TRUE(comes_true([&] { return heard.errors().size() >= 2; }));
  }
  EXPECT_EQ(heard.connected(), 0);
}

}  // namespace
}  // namespace pawl::store::pg
