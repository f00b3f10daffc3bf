#include "store/postgres/listener.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <thread>
#include <utility>

#include <libpq-fe.h>

#include "base/check.h"
#include "store/postgres/connection.h"
#include "store/postgres/connection_impl.h"
#include "store/postgres/growing_pause.h"

namespace pawl::store::pg {

std::string notice_payload(std::string_view sender, std::string_view text) {
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
        stop_(::eventfd(0, EFD_CLOEXEC)),
        thread_([this] { run(); }) {}

  ~Impl() {
    const std::uint64_t one = 1;
    while (::write(stop_, &one, sizeof(one)) < 0 && errno == EINTR) {
    }
    thread_.join();
    ::close(stop_);
  }

  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

 private:
  void run() {
    GrowingPause pause;
    while (true) {
      if (const Result<void> begun = begin(); !begun) {
        tell(begun.error());
        if (wait(-1, pause.next_ms())) {
          return;
        }
        continue;
      }
      pause.reset();
      if (options_.on_connected) {
        options_.on_connected();
      }
      while (tell_notices()) {
        if (wait(PQsocket(connection_.native), -1)) {
          return;
        }
      }
      tell(connection_.lost(PQerrorMessage(connection_.native), false));
      connection_.close();
      // At least the first pause: a server that takes connections and drops them is not to be
      // asked all the time.
      if (wait(-1, pause.next_ms())) {
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

  // Sleeps until there is something to read, or for so long; -1: no such end. True: stop.
  bool wait(int socket, std::int64_t pause_ms) const {
    std::array<pollfd, 2> files = {{{stop_, POLLIN, 0}, {socket, POLLIN, 0}}};
    while (::poll(files.data(), files.size(), static_cast<int>(pause_ms)) < 0 && errno == EINTR) {
    }
    return files[0].revents != 0;
  }

  Connection::Impl connection_;
  const Options options_;
  const int stop_;
  std::thread thread_;
};

Listener::Listener(const PostgresOptions& store, Options options)
    : impl_(std::make_unique<Impl>(store, std::move(options))) {}
Listener::~Listener() = default;

}  // namespace pawl::store::pg
