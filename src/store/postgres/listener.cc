#include "store/postgres/listener.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include <libpq-fe.h>

#include "base/check.h"
#include "store/postgres/connection.h"
#include "store/postgres/connection_impl.h"
#include "store/postgres/growing_pause.h"

namespace pawl::store::pg {

namespace {

using Clock = std::chrono::steady_clock;

// Between two times that others are told.
constexpr std::chrono::milliseconds kTellPause{10};

// It does not matter if it is lost when the server crashes: then all connect again, and look.
constexpr std::string_view kTell = "SET LOCAL synchronous_commit = off; SELECT pg_notify(";

}  // namespace

std::string Notice::payload() const {
  PAWL_CHECK(sender.find(' ') == std::string_view::npos);
  std::string payload(sender);
  if (!text.empty()) {
    payload += ' ';
    payload += text;
  }
  return payload;
}

class Listener::Impl {
 public:
  Impl(const PostgresOptions& store, Options options)
      : connection_(store),
        options_(std::move(options)),
        news_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        thread_([this] { options_.every_ms == 0 ? run() : make_up(); }) {}

  ~Impl() {
    {
      const std::scoped_lock lock(mutex_);
      is_stopping_ = true;
    }
    wake();
    thread_.join();
    ::close(news_);
  }

  void tell(std::string_view text) {
    {
      const std::scoped_lock lock(mutex_);
      if (!to_tell_.emplace(text).second) {
        return;
      }
    }
    wake();
  }

  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

 private:
  void make_up() {
    if (options_.on_connected) {
      options_.on_connected();
    }
    while (!wait_ms(options_.every_ms)) {
      options_.on_notice({});
    }
  }

  void run() {
    GrowingPause pause;
    while (true) {
      if (const Result<void> begun = begin(); !begun) {
        tell(begun.error());
        if (wait_ms(pause.next_ms())) {
          return;
        }
        continue;
      }
      pause.reset();
      if (options_.on_connected) {
        options_.on_connected();
      }
      while (tell_notices()) {
        const bool is_last = is_stopping();
        const std::int64_t next_ms = tell_others(is_last);
        if (is_last) {
          return;
        }
        wait(PQsocket(connection_.native), next_ms);
      }
      tell(connection_.lost(PQerrorMessage(connection_.native), false));
      connection_.close();
      // At least the first pause: a server that takes connections and drops them is not to be
      // asked all the time.
      if (wait_ms(pause.next_ms())) {
        return;
      }
    }
  }

  Result<void> begin() {
    PAWL_TRY(connection_.connect());
    std::string name = "\"";
    for (const char byte : options_.channel) {
      name += byte == '"' ? "\"\"" : std::string(1, byte);
    }
    return connection_.execute("LISTEN " + name + "\"", Effect::kReads);
  }

  void tell(const Error& error) {
    if (options_.on_error) {
      options_.on_error(error);
    }
  }

  // Those that are there. False: the connection is lost; what came before has been told.
  bool tell_notices() {
    const bool is_open = connection_.consume_input();
    while (PGnotify* const notice = PQnotifies(connection_.native)) {
      const std::string_view payload = notice->extra;
      const std::size_t space = payload.find(' ');
      const bool is_own =
          !options_.own_sender.empty() && payload.substr(0, space) == options_.own_sender;
      if (!is_own && options_.channel == notice->relname && options_.on_notice) {
        options_.on_notice(space == std::string_view::npos ? std::string_view()
                                                           : payload.substr(space + 1));
      }
      PQfreemem(notice);
    }
    return is_open;
  }

  bool is_stopping() {
    const std::scoped_lock lock(mutex_);
    return is_stopping_;
  }

  // What there is to tell, if its time has come. Returns when to come again, in milliseconds; -1:
  // when there is more.
  std::int64_t tell_others(bool at_once) {
    std::set<std::string, std::less<>> texts;
    {
      const std::scoped_lock lock(mutex_);
      if (to_tell_.empty()) {
        return -1;
      }
      const auto left = told_ + kTellPause - Clock::now();
      if (!at_once && left > Clock::duration::zero()) {
        return std::chrono::ceil<std::chrono::milliseconds>(left).count();
      }
      texts.swap(to_tell_);
    }
    told_ = Clock::now();
    for (const std::string& text : texts) {
      std::string sql(kTell);
      sql += in_quotes(options_.channel) + ", " +
             in_quotes(Notice{options_.channel, options_.own_sender, text}.payload()) + ")";
      if (!connection_.execute(sql, Effect::kReads)) {
        const std::scoped_lock lock(mutex_);
        to_tell_.insert(text);  // For the next connection.
      }
    }
    return 0;  // Notices may have come with the answers.
  }

  std::string in_quotes(std::string_view text) {
    char* const quoted = PQescapeLiteral(connection_.native, text.data(), text.size());
    std::string copy = quoted == nullptr ? "''" : quoted;
    PQfreemem(quoted);
    return copy;
  }

  void wake() const {
    const std::uint64_t one = 1;
    while (::write(news_, &one, sizeof(one)) < 0 && errno == EINTR) {
    }
  }

  // Sleeps until there is something to read or to tell, or for so long; -1: no such end.
  void wait(int socket, std::int64_t pause_ms) const {
    std::array<pollfd, 2> files = {{{news_, POLLIN, 0}, {socket, POLLIN, 0}}};
    while (::poll(files.data(), files.size(), static_cast<int>(pause_ms)) < 0 && errno == EINTR) {
    }
    std::uint64_t count = 0;
    while (::read(news_, &count, sizeof(count)) < 0 && errno == EINTR) {
    }
  }

  // Sleeps for so long, whatever there is to tell. True: stop.
  bool wait_ms(std::int64_t pause_ms) {
    const auto end = Clock::now() + std::chrono::milliseconds(pause_ms);
    for (auto now = Clock::now(); now < end && !is_stopping(); now = Clock::now()) {
      wait(-1, std::chrono::ceil<std::chrono::milliseconds>(end - now).count());
    }
    return is_stopping();
  }

  Connection::Impl connection_;
  const Options options_;
  const int news_;
  std::mutex mutex_;
  std::set<std::string, std::less<>> to_tell_;
  bool is_stopping_ = false;
  Clock::time_point told_;  // Only the thread's.
  std::thread thread_;
};

Listener::Listener(const PostgresOptions& store, Options options)
    : impl_(std::make_unique<Impl>(store, std::move(options))) {}
Listener::~Listener() = default;

void Listener::tell(std::string_view text) { impl_->tell(text); }

}  // namespace pawl::store::pg
