// Link: the way of one process to one server, through which all its connections go, so that they
// can be cut. A thread of its own; thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <thread>

namespace pawl::fleet {

class Link {
 public:
  explicit Link(std::uint16_t server_port);
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  std::uint16_t port() const { return port_; }
  // For connections to come.
  void lead_to(std::uint16_t server_port) { server_port_ = server_port; }

  enum class Cut : std::uint8_t {
    kNow,      // What is on its way is lost.
    kAnswers,  // The server still gets what is sent; each connection ends with the next answer.
    kSilence,  // Nothing gets through any more, in either direction, nor can anybody connect; in
               // the end all is cut.
  };
  // `silence` is how long that lasts.
  void cut(Cut how, std::chrono::milliseconds silence = {});

 private:
  using Clock = std::chrono::steady_clock;
  struct Connection {
    int client = -1;
    int server = -1;
    bool drops_answer = false;
  };

  void run();
  void accept();
  // False: it is over.
  bool forward(int from, int to);
  void obey();
  void close_all();

  std::atomic<std::uint16_t> server_port_;
  std::uint16_t port_ = 0;
  int listener_ = -1;
  int wake_ = -1;
  std::list<Connection> connections_;

  std::mutex mutex_;  // Guards what follows.
  bool is_over_ = false;
  bool cuts_now_ = false;
  bool cuts_answers_ = false;
  Clock::time_point silent_until_;
  std::thread thread_;
};

}  // namespace pawl::fleet
