#include "fleet/link.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace pawl::fleet {

namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

bool send_all(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) {
      return false;
    }
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

void send_at_once(int socket) {
  const int yes = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
}

}  // namespace

Link::Link(std::uint16_t server_port)
    : server_port_(server_port),
      listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof(address);
  if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(listener_, 64) != 0 ||
      ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw std::runtime_error("a link finds no port");
  }
  port_ = ntohs(address.sin_port);
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
  const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(server_port_);
  if (::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    ::close(server);
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
  return got > 0 && send_all(to, {buffer.data(), static_cast<std::size_t>(got)});
}

void Link::close_all() {
  for (const Connection& connection : connections_) {
    ::close(connection.client);
    ::close(connection.server);
  }
  connections_.clear();
}

}  // namespace pawl::fleet
