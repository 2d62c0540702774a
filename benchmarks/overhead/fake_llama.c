// A fake llama-server that is fast: one thread on epoll that streams /v1/chat/completions as llama.cpp does.
//
// Usage: fake_llama PORT        listens on 127.0.0.1 until it is told to end
//
// A request says how it is to be answered: the last "fake:n=200,d=20,f=0" in its body, wherever that is, means
//   n  tokens of the answer
//   d  milliseconds from one token to the next; 0 = as fast as the socket takes them
//   f  milliseconds before the first token
// Each token is "T<time it was sent, CLOCK_MONOTONIC, µs, 15 digits>.<number from 0>E ".
// GET /stat counts what was asked and says how many streams are running.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MOST_CONNECTIONS = 20000, EVENTS_AT_ONCE = 512, LEAST_READ = 8192, LATE_US = 100000, PROMPT_TOKENS = 31 };

struct knobs {
    int tokens;
    double delay_ms, first_ms;
};

struct buffer {
    char *bytes;
    size_t length, capacity;
};

struct connection {
    int fd;
    int streaming;                  // an answer is being streamed
    int wants_timings, wants_usage; // what its request asked for
    int sent;                       // tokens of this answer
    int64_t due_us;                 // when the next token is due
    struct knobs knobs;
    struct buffer in, out;
    size_t out_done; // bytes of `out` that the socket has taken
};

static const struct knobs DEFAULTS = {.tokens = 200, .delay_ms = 20, .first_ms = 0};
static struct connection *connections[MOST_CONNECTIONS]; // by file descriptor
static struct connection *streams[MOST_CONNECTIONS];     // those that stream
static int stream_count, epoll_fd;
static long request_count, token_count, open_count;

#define CHUNK_TAIL                                                                                                     \
    "\"created\":1795987173,\"id\":\"chatcmpl-0123456789abcdefghijklmnopqrstuv\",\"model\":\"fake.gguf\","             \
    "\"system_fingerprint\":\"b1-0000000\",\"object\":\"chat.completion.chunk\""

static int64_t now_us(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000LL + time.tv_nsec / 1000;
}

// ---- bytes ----------------------------------------------------------------------------------------------------

static void reserve(struct buffer *buffer, size_t more) {
    if (buffer->length + more <= buffer->capacity) return;
    buffer->capacity = (buffer->length + more) * 2;
    buffer->bytes = realloc(buffer->bytes, buffer->capacity);
    if (!buffer->bytes) abort();
}

static void put(struct buffer *buffer, const char *bytes, size_t length) {
    reserve(buffer, length);
    memcpy(buffer->bytes + buffer->length, bytes, length);
    buffer->length += length;
}

static void put_text(struct buffer *buffer, const char *text) { put(buffer, text, strlen(text)); }

static void put_chunk(struct buffer *buffer, const char *text) {
    char head[24];
    size_t length = strlen(text);
    put(buffer, head, sprintf(head, "%zx\r\n", length));
    put(buffer, text, length);
    put(buffer, "\r\n", 2);
}

static void put_json(struct buffer *buffer, const char *status, const char *body) {
    char head[256];
    put(buffer, head,
        sprintf(head,
                "HTTP/1.1 %s\r\nServer: llama.cpp\r\nContent-Type: application/json; charset=utf-8\r\n"
                "Content-Length: %zu\r\n\r\n",
                status, strlen(body)));
    put_text(buffer, body);
}

// ---- what a request says --------------------------------------------------------------------------------------

static void read_knobs(struct knobs *knobs, const char *text, const char *end) {
    while (end - text >= 2 && text[1] == '=') {
        double value = atof(text + 2); // the body ends with a zero byte
        if (*text == 'n') knobs->tokens = (int)value;
        if (*text == 'd') knobs->delay_ms = value;
        if (*text == 'f') knobs->first_ms = value;
        while (text < end && (strchr("ndf=.", *text) || (*text >= '0' && *text <= '9'))) text++;
        if (text == end || *text++ != ',') return;
    }
}

static struct knobs knobs_of(const char *body, size_t length) {
    struct knobs knobs = DEFAULTS;
    const char *end = body + length, *place = body, *last = NULL;
    while ((place = memmem(place, end - place, "fake:", 5))) last = place += 5;
    if (last) read_knobs(&knobs, last, end);
    return knobs;
}

static int is_true(const char *body, size_t length, const char *key) {
    const char *end = body + length, *place = body;
    while ((place = memmem(place, end - place, key, strlen(key)))) {
        place += strlen(key);
        while (*place == ' ' || *place == ':') place++;
        if (!strncmp(place, "true", 4)) return 1;
    }
    return 0;
}

// ---- answers --------------------------------------------------------------------------------------------------

static void add_timings(const struct connection *connection, char *text) {
    if (!connection->wants_timings) return;
    sprintf(text + strlen(text),
            ",\"timings\":{\"cache_n\":24,\"prompt_n\":7,\"prompt_ms\":25.238,\"prompt_per_token_ms\":3.605428571,"
            "\"prompt_per_second\":277.3595372,\"predicted_n\":%d,\"predicted_ms\":49.286,"
            "\"predicted_per_token_ms\":8.214333333,\"predicted_per_second\":121.7384247}",
            connection->sent);
}

static void put_delta(struct connection *connection, const char *delta, const char *finish_reason, int with_timings) {
    char text[2048];
    sprintf(text, "data: {\"choices\":[{\"finish_reason\":%s,\"index\":0,\"delta\":%s}]," CHUNK_TAIL, finish_reason,
            delta);
    if (with_timings) add_timings(connection, text);
    strcat(text, "}\n\n");
    put_chunk(&connection->out, text);
}

static void put_token(struct connection *connection) {
    char delta[96];
    sprintf(delta, "{\"content\":\"T%015lld.%dE \"}", (long long)now_us(), connection->sent);
    connection->sent++;
    token_count++;
    put_delta(connection, delta, "null", 1);
}

static void put_end(struct connection *connection) {
    // The last chunk that is sent tells the timings, whether they were asked for or not.
    connection->wants_timings = 1;
    put_delta(connection, "{}", "\"stop\"", !connection->wants_usage);
    if (connection->wants_usage) {
        char text[2048];
        sprintf(text,
                "data: {\"choices\":[]," CHUNK_TAIL ",\"usage\":{\"completion_tokens\":%d,\"prompt_tokens\":%d,"
                "\"total_tokens\":%d,\"prompt_tokens_details\":{\"cached_tokens\":24}}",
                connection->sent, PROMPT_TOKENS, connection->sent + PROMPT_TOKENS);
        add_timings(connection, text);
        strcat(text, "}\n\n");
        put_chunk(&connection->out, text);
    }
    put_chunk(&connection->out, "data: [DONE]\n\n");
    put_text(&connection->out, "0\r\n\r\n");
    connection->streaming = 0;
}

static void put_progress(struct connection *connection, int processed) {
    char text[2048];
    sprintf(text, "data: {\"choices\":[{\"finish_reason\":null,\"index\":0,\"delta\":{\"role\":\"assistant\","
                  "\"content\":null}}]," CHUNK_TAIL);
    add_timings(connection, text);
    sprintf(text + strlen(text),
            ",\"prompt_progress\":{\"total\":%d,\"cache\":24,\"processed\":%d,\"time_ms\":%d}}\n\n", PROMPT_TOKENS,
            processed, processed - 24);
    put_chunk(&connection->out, text);
}

static void begin_stream(struct connection *connection, const char *body, size_t length) {
    connection->sent = 0;
    put_text(&connection->out, "HTTP/1.1 200 OK\r\nServer: llama.cpp\r\nContent-Type: text/event-stream\r\n"
                               "Transfer-Encoding: chunked\r\n\r\n");
    if (is_true(body, length, "\"return_progress\"")) {
        put_progress(connection, 24);
        put_progress(connection, PROMPT_TOKENS);
    }
    put_delta(connection, "{\"role\":\"assistant\",\"content\":null}", "null", 0);
    connection->streaming = 1;
    connection->due_us = now_us() + (int64_t)(connection->knobs.first_ms * 1000);
    streams[stream_count++] = connection;
}

static void answer_at_once(struct connection *connection) {
    int tokens = connection->knobs.tokens;
    char *text = malloc((size_t)tokens * 32 + 2048), *end = text;
    if (!text) abort();
    end += sprintf(end, "{\"choices\":[{\"finish_reason\":\"stop\",\"index\":0,\"message\":{\"role\":\"assistant\","
                        "\"content\":\"");
    for (int i = 0; i < tokens; i++) end += sprintf(end, "T%015lld.%dE ", (long long)now_us(), i);
    sprintf(end,
            "\"}}],\"created\":1795987173,\"model\":\"fake.gguf\",\"object\":\"chat.completion\",\"id\":\"chatcmpl-0\","
            "\"usage\":{\"completion_tokens\":%d,\"prompt_tokens\":%d,\"total_tokens\":%d}}",
            tokens, PROMPT_TOKENS, tokens + PROMPT_TOKENS);
    put_json(&connection->out, "200 OK", text);
    free(text);
}

static void complete(struct connection *connection, const char *body, size_t length) {
    connection->knobs = knobs_of(body, length);
    connection->wants_timings = is_true(body, length, "\"timings_per_token\"");
    connection->wants_usage = is_true(body, length, "\"include_usage\"");
    if (is_true(body, length, "\"stream\"")) begin_stream(connection, body, length);
    else answer_at_once(connection);
}

// What is always answered with the same words.
static const struct {
    const char *request, *answer;
} SAID[] = {
    {"GET /health ", "{\"status\":\"ok\"}"},
    {"GET /v1/health ", "{\"status\":\"ok\"}"},
    {"GET /slots", "[{\"id\":0,\"n_ctx\":8192,\"speculative\":false,\"is_processing\":false},"
                   "{\"id\":1,\"n_ctx\":8192,\"speculative\":false,\"is_processing\":false}]"},
    {"GET /props", "{\"default_generation_settings\":{\"params\":{\"n_predict\":-1},\"n_ctx\":8192},"
                   "\"total_slots\":2,\"model_alias\":\"fake\",\"model_path\":\"fake.gguf\","
                   "\"chat_template\":\"{{messages}}\",\"build_info\":\"b1-0000000\"}"},
    {"GET /v1/models", "{\"object\":\"list\",\"data\":[{\"id\":\"fake\",\"object\":\"model\",\"created\":1795987173,"
                       "\"owned_by\":\"llamacpp\",\"meta\":{\"n_ctx_train\":8192}}]}"},
    {"POST /v1/chat/completions/input_tokens ", "{\"input_tokens\":31,\"object\":\"response.input_tokens\"}"},
};

static int starts_with(const char *text, const char *start) { return !strncmp(text, start, strlen(start)); }

static void answer(struct connection *connection, const char *head, const char *body, size_t length) {
    request_count++;
    for (size_t i = 0; i < sizeof SAID / sizeof *SAID; i++)
        if (starts_with(head, SAID[i].request)) {
            put_json(&connection->out, "200 OK", SAID[i].answer);
            return;
        }
    if (starts_with(head, "GET /stat")) {
        char text[160];
        sprintf(text, "{\"requests\":%ld,\"tokens\":%ld,\"open\":%ld,\"streaming\":%d}", request_count, token_count,
                open_count, stream_count);
        put_json(&connection->out, "200 OK", text);
    } else if (starts_with(head, "POST /v1/chat/completions ") || starts_with(head, "POST /chat/completions "))
        complete(connection, body, length);
    else
        put_json(&connection->out, "404 Not Found",
                 "{\"error\":{\"code\":404,\"message\":\"File Not Found\",\"type\":\"not_found_error\"}}");
}

// ---- connections ----------------------------------------------------------------------------------------------

static void stop_stream(const struct connection *connection) {
    for (int i = 0; i < stream_count; i++)
        if (streams[i] == connection) {
            streams[i] = streams[--stream_count];
            return;
        }
}

static void end_connection(struct connection *connection) {
    close(connection->fd);
    connections[connection->fd] = NULL;
    stop_stream(connection);
    free(connection->in.bytes);
    free(connection->out.bytes);
    free(connection);
    open_count--;
}

// Gives 0 when all is sent, 1 when the socket is full, -1 when the connection is lost.
static int flush(struct connection *connection) {
    struct buffer *out = &connection->out;
    while (connection->out_done < out->length) {
        ssize_t sent =
            send(connection->fd, out->bytes + connection->out_done, out->length - connection->out_done, MSG_NOSIGNAL);
        if (sent < 0) return errno == EAGAIN ? 1 : -1;
        connection->out_done += (size_t)sent;
    }
    connection->out_done = out->length = 0;
    return 0;
}

// Answers the first request in `in` if it is there as a whole; gives whether it was.
static int take_request(struct connection *connection) {
    struct buffer *in = &connection->in;
    in->bytes[in->length] = 0;
    char *blank = memmem(in->bytes, in->length, "\r\n\r\n", 4);
    if (!blank) return 0;
    char *body = blank + 4;
    size_t body_length = 0;
    for (char *line = in->bytes; line < blank; line = strstr(line, "\r\n") + 2)
        if (!strncasecmp(line, "content-length:", 15)) body_length = strtoul(line + 15, NULL, 10);
    size_t length = (size_t)(body - in->bytes) + body_length;
    if (in->length < length) return 0;
    char kept = in->bytes[length];
    in->bytes[length] = 0;
    answer(connection, in->bytes, body, body_length);
    in->bytes[length] = kept;
    memmove(in->bytes, in->bytes + length, in->length - length);
    in->length -= length;
    return 1;
}

// Gives -1 when the connection is lost. Edge-triggered: reads until there is nothing left.
static int receive(struct connection *connection) {
    struct buffer *in = &connection->in;
    for (;;) {
        reserve(in, LEAST_READ);
        // One byte stays free for the zero behind what was read.
        ssize_t got = recv(connection->fd, in->bytes + in->length, in->capacity - in->length - 1, 0);
        if (got == 0) return -1;
        if (got < 0) {
            if (errno == EAGAIN) break;
            return -1;
        }
        in->length += (size_t)got;
    }
    while (!connection->streaming && in->length && take_request(connection))
        if (flush(connection) < 0) return -1;
    return 0;
}

static void watch(int fd, uint32_t events) {
    struct epoll_event event = {.events = events, .data.fd = fd};
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

static void accept_all(int listening) {
    int fd, one = 1;
    while ((fd = accept4(listening, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
        struct connection *connection = fd < MOST_CONNECTIONS ? calloc(1, sizeof *connection) : NULL;
        if (!connection) {
            close(fd);
            continue;
        }
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        connection->fd = fd;
        connections[fd] = connection;
        open_count++;
        watch(fd, EPOLLIN | EPOLLOUT | EPOLLET);
    }
}

static void on_event(const struct epoll_event *event) {
    struct connection *connection = connections[event->data.fd];
    if (!connection) return; // ended by an event before this one
    if ((event->events & (EPOLLIN | EPOLLHUP | EPOLLERR)) && receive(connection) < 0) end_connection(connection);
    else if ((event->events & EPOLLOUT) && flush(connection) < 0) end_connection(connection);
}

// Sends the tokens that are due; gives whether some stream takes them as fast as it can.
static int send_due(void) {
    int64_t now = now_us();
    int unpaced = 0;
    // Backwards, since a stream that ends gives its place to the last one.
    for (int i = stream_count - 1; i >= 0; i--) {
        struct connection *connection = streams[i];
        if (connection->due_us > now) continue;
        int full = flush(connection);
        if (full == 1) continue;
        if (full == 0) {
            if (connection->sent < connection->knobs.tokens) put_token(connection);
            else put_end(connection);
            if (!connection->streaming) stop_stream(connection);
            if (connection->knobs.delay_ms > 0) {
                connection->due_us += (int64_t)(connection->knobs.delay_ms * 1000);
                // A reader that was slow gets no flood afterwards.
                if (connection->due_us < now - LATE_US) connection->due_us = now;
            } else unpaced = 1;
            full = flush(connection);
        }
        if (full < 0) end_connection(connection);
    }
    return unpaced;
}

static int listen_on(int port) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), one = 1;
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) || listen(fd, 4096)) {
        perror("fake_llama");
        exit(1);
    }
    return fd;
}

int main(int argument_count, char **arguments) {
    if (argument_count != 2) {
        fprintf(stderr, "usage: fake_llama PORT\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    int listening = listen_on(atoi(arguments[1])), unpaced = 0;
    epoll_fd = epoll_create1(0);
    watch(listening, EPOLLIN);
    for (;;) {
        static struct epoll_event events[EVENTS_AT_ONCE];
        // A token is due to the millisecond; with nothing to stream there is nothing to wake up for.
        int timeout_ms = unpaced ? 0 : stream_count ? 1 : -1;
        int count = epoll_wait(epoll_fd, events, EVENTS_AT_ONCE, timeout_ms);
        for (int i = 0; i < count; i++) {
            if (events[i].data.fd == listening) accept_all(listening);
            else on_event(&events[i]);
        }
        unpaced = send_due();
    }
}
