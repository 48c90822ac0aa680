/* The recorder for programs of other frameworks: C, so that any language can load it. libmsdbg_record.so.
 *
 * A rank opens a recording, defines what it computes as it meets it (frames, sources, nodes: ids from 0,
 * which stay), and tells of each iteration what ran and what it saw. See dump/python/README.md for what a
 * good graph looks like. Functions that return a status or an id return -1 where they failed;
 * msdbg_record_error() tells why. Any thread may call; calls on one recording wait for each other. Strings
 * are UTF-8 and copied.
 */
#ifndef MSDBG_RECORD_H
#define MSDBG_RECORD_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct msdbg_recording msdbg_recording;

/* What went wrong in this thread's last call that failed: what, where, what to do. Until the next call. */
const char* msdbg_record_error(void);

/* `settings`: a JSON object (dump/python/record/settings.h). NULL: it failed. */
msdbg_recording* msdbg_record_open(const char* settings);
/* The run's id, 32 hexadecimal digits. */
const char* msdbg_record_run_id(const msdbg_recording* recording);
/* 0: the recorder gave up, or the recording has ended. */
int msdbg_record_active(msdbg_recording* recording);

/* The number of a dtype ("float32", "torch.bfloat16"); -1: recordings have no such type. */
int32_t msdbg_record_dtype(const char* name);

int64_t msdbg_record_frame(msdbg_recording* recording, const char* file, int32_t line, const char* function,
                           const char* code, int engine);

typedef struct {
  const char* name;
  const char* alias; /* "" none */
  const char* role;  /* input label parameter state constant hyperparameter activation loss gradient
                        updated */
  int32_t dtype;
  int trainable;
  const int64_t* dims;
  int32_t rank;
  const int64_t* frames; /* of sources */
  int32_t frame_count;
  int64_t gradient_of, update_of; /* of outputs; -1 none */
} msdbg_tensor;
int64_t msdbg_record_source(msdbg_recording* recording, const msdbg_tensor* source);

typedef struct {
  const char *name, *domain, *type;
  const char* phase;      /* forward backward update collective */
  const char* attributes; /* a JSON object; dump/python/record/attributes.h */
  const int64_t* inputs;
  int32_t input_count;
  const msdbg_tensor* outputs; /* their names and frames are not read */
  int32_t output_count;
  const int64_t* frames;
  int32_t frame_count;
  int64_t derived_from; /* -1 none */
} msdbg_node;
/* `outputs`: receives output_count ids. A name whose operator and kinds of outputs are known is the node that
 * it was, with its ids; what it reads and comes from is what is given now. Before it runs in an iteration. */
int64_t msdbg_record_node(msdbg_recording* recording, const msdbg_node* node, int64_t* outputs);
/* Where it lies: "cpu", "cuda:0". Optional; before the iteration that defined the tensor ends. The first that
 * is said stays. */
int msdbg_record_device(msdbg_recording* recording, int64_t tensor, const char* device);
/* A module of the program, as names have it ("GPT/h/0/attn"), and its class. Optional. */
int msdbg_record_module(msdbg_recording* recording, const char* path, const char* class_name);
/* Where this rank stands in a mesh of ranks: at `index` of `size` along an axis ("dp", "tp"). Optional; for
 * each axis the last that is said counts. */
int msdbg_record_mesh(msdbg_recording* recording, const char* axis, int32_t index, int32_t size);
int msdbg_record_role(msdbg_recording* recording, int64_t tensor, const char* role);

int msdbg_record_begin(msdbg_recording* recording, int64_t iteration);
int msdbg_record_ran(msdbg_recording* recording, int64_t node);
/* `node` ran just before `reader`, which was said to have run and reads these. */
int msdbg_record_ran_before(msdbg_recording* recording, int64_t node, int64_t reader, const int64_t* inputs,
                            int32_t input_count);
/* Of what was seen of the tensor in this iteration: 1 all its numbers are finite, 0 some are not, -1 nothing
 * was seen. */
int msdbg_record_is_finite(msdbg_recording* recording, int64_t tensor);
/* Whether the bytes are those that were seen of the tensor in this iteration: 1 they are, 0 they are others,
 * -1 nothing was seen, or no hash of it, or another type or number of elements. As saw() otherwise. */
int msdbg_record_is_same(msdbg_recording* recording, int64_t tensor, const void* data, int32_t dtype,
                         const int64_t* dims, int32_t rank);
/* Dense, row-major, in the host's memory; read before it returns. */
int msdbg_record_saw(msdbg_recording* recording, int64_t tensor, const void* data, int32_t dtype,
                     const int64_t* dims, int32_t rank);
int msdbg_record_saw_same(msdbg_recording* recording, int64_t tensor, int64_t other);
int msdbg_record_keep(msdbg_recording* recording, int64_t tensor, const void* data, int32_t dtype,
                      const int64_t* dims, int32_t rank);
int msdbg_record_end(msdbg_recording* recording, const char* const* names, const double* values,
                     int32_t count);

/* A number of the program's own beside the last complete iteration, of an evaluation. Before there is one:
 * nothing. */
int msdbg_record_metric(msdbg_recording* recording, const char* name, double value);

/* The program is about to fail at this node, which ran in the iteration in progress: finish() says so. */
int msdbg_record_failed_at(msdbg_recording* recording, int64_t node);
/* `state`: finished, failed, stopped. The recording stays allocated: threads may still call. */
int msdbg_record_finish(msdbg_recording* recording, const char* state, const char* message, int exit_status);
/* --stop-on-hit: "" until the iterations after this rank's first hit are recorded, then that hit, as text for
 * finish_on_hit(), here or on another rank. NULL: nobody asked to stop. Valid until this thread's next call.
 */
const char* msdbg_record_stop_hit(msdbg_recording* recording);
/* As finish(), because of that hit. */
int msdbg_record_finish_on_hit(msdbg_recording* recording, const char* hit);
/* In a forked child: the run stays the parent's. */
void msdbg_record_child(msdbg_recording* recording);

#ifdef __cplusplus
}
#endif
#endif
