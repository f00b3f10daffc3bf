#include "fleet/link.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <vector>

#include "postgres/loopback.h"

namespace pawl::fleet {

namespace {

void send_at_once(int socket) {
  const int yes = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
}

}  // namespace

Link::Link(std::uint16_t server_port)
    : server_port_(server_port), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  const testing::Listening listening = testing::listen_on_loopback(SOCK_NONBLOCK);
  listener_ = listening.socket;
  port_ = listening.port;
  thread_ = std::thread([this] { run(); });
}

Link::~Link() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  const std::uint64_t one = 1;
  (void)!::write(wake_, &one, sizeof(one));
  thread_.join();
  close_all();
  ::close(listener_);
  ::close(wake_);
}

void Link::cut(Cut how, std::chrono::milliseconds silence) {
  {
    const std::lock_guard lock(mutex_);
    cuts_now_ |= how == Cut::kNow;
    cuts_answers_ |= how == Cut::kAnswers;
    if (how == Cut::kSilence) {
      silent_until_ = Clock::now() + silence;
    }
  }
  const std::uint64_t one = 1;
  (void)!::write(wake_, &one, sizeof(one));
}

void Link::run() {
  std::vector<pollfd> files;
  bool was_silent = false;
  while (true) {
    int timeout_ms = -1;
    {
      const std::lock_guard lock(mutex_);
      if (is_over_) {
        return;
      }
      const auto left = silent_until_ - Clock::now();
      if (left > Clock::duration::zero()) {
        timeout_ms = static_cast<int>(
            std::chrono::duration_cast<std::chrono::milliseconds>(left).count() + 1);
      }
    }
    const bool is_silent = timeout_ms >= 0;
    if (was_silent && !is_silent) {
      close_all();
    }
    was_silent = is_silent;
    files.assign(1, {wake_, POLLIN, 0});
    if (!is_silent) {
      files.push_back({listener_, POLLIN, 0});
      for (const Connection& connection : connections_) {
        files.push_back({connection.client, POLLIN, 0});
        files.push_back({connection.server, POLLIN, 0});
      }
    }
    ::poll(files.data(), files.size(), timeout_ms);
    if (files[0].revents != 0) {
      std::uint64_t ignored = 0;
      (void)!::read(wake_, &ignored, sizeof(ignored));
      obey();
      continue;
    }
    if (is_silent) {
      continue;
    }
    std::size_t next = 2;
    for (auto it = connections_.begin(); it != connections_.end();) {
      bool is_open = true;
      if (files[next].revents != 0) {
        is_open = forward(it->client, it->server);
      }
      if (is_open && files[next + 1].revents != 0) {
        is_open = !it->drops_answer && forward(it->server, it->client);
      }
      next += 2;
      if (is_open) {
        ++it;
        continue;
      }
      ::close(it->client);
      ::close(it->server);
      it = connections_.erase(it);
    }
    if (files[1].revents != 0) {
      accept();
    }
  }
}

void Link::obey() {
  const std::lock_guard lock(mutex_);
  if (cuts_now_) {
    close_all();
  }
  if (cuts_answers_) {
    for (Connection& connection : connections_) {
      connection.drops_answer = true;
    }
  }
  cuts_now_ = false;
  cuts_answers_ = false;
}

void Link::accept() {
  const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (client < 0) {
    return;
  }
  const int server = testing::connect_on_loopback(server_port_);
  if (server < 0) {
    ::close(client);
    return;
  }
  send_at_once(client);
  send_at_once(server);
  connections_.push_back({client, server, false});
}

bool Link::forward(int from, int to) {
  std::array<char, 65536> buffer;
  const ssize_t got = ::recv(from, buffer.data(), buffer.size(), 0);
  return got > 0 && testing::send_all(to, {buffer.data(), static_cast<std::size_t>(got)});
}

void Link::close_all() {
  for (const Connection& connection : connections_) {
    ::close(connection.client);
    ::close(connection.server);
  }
  connections_.clear();
}

}  // namespace pawl::fleet
