/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An out-of-order queue whose commands are ordered only by events. A user event starts them. Also tests profiling,
 * callbacks, markers, tasks and a native function.
 */
#include "app.h"

#include <pthread.h>

enum { N = 1024, CHAIN = 16 };

static const char source[] =
	"__kernel void link_in(__global uint *data, uint i) { data[get_global_id(0)] = data[get_global_id(0)] * 7 + i; }\n"
	"__kernel void alone(__global uint *data) { data[0] += 12345; }\n";

static int called;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void CL_CALLBACK on_complete(cl_event event, cl_int status, void *arg)
{
	pthread_mutex_lock(&lock);
	called += status == CL_COMPLETE;
	pthread_mutex_unlock(&lock);
}

static void check_event(cl_event e, cl_command_type want)
{
	cl_command_type type;
	cl_ulong start, end;
	cl_int status;

	CHECK(clGetEventInfo(e, CL_EVENT_COMMAND_TYPE, sizeof(type), &type, NULL));
	CHECK(clGetEventInfo(e, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL));
	CHECK(clGetEventProfilingInfo(e, CL_PROFILING_COMMAND_START, sizeof(start), &start, NULL));
	CHECK(clGetEventProfilingInfo(e, CL_PROFILING_COMMAND_END, sizeof(end), &end, NULL));
	if (type != want || status != CL_COMPLETE || end < start)
		app_fail(__FILE__, __LINE__, "the event", (int)type);
	app_digest(&type, sizeof(type));
}

int main(void)
{
	cl_command_queue_properties properties = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE;
	cl_event events[CHAIN + 1], task;
	size_t global = N, local = 32, one = 1;
	cl_command_queue queue;
	cl_program program;
	cl_kernel chain, alone;
	cl_mem data;
	cl_int err;

	app_open();
	queue = clCreateCommandQueue(app_context, app_device, properties, &err);
	if (!queue)
		app_lacks("out-of-order queues");
	program = app_program(source, "");
	chain = app_kernel(program, "link_in");
	alone = app_kernel(program, "alone");
	data = app_buffer(N * 4, NULL);
	events[0] = clCreateUserEvent(app_context, &err);
	CHECK(err);
	app_arg_mem(chain, 0, data);
	for (uint32_t i = 0; i < CHAIN; i++) {
		app_arg_u32(chain, 1, i * i);
		CHECK(clEnqueueNDRangeKernel(queue, chain, 1, NULL, &global, &local, 1, &events[i], &events[i + 1]));
		app_count(chain, 1, &global);
		CHECK(clSetEventCallback(events[i + 1], CL_COMPLETE, on_complete, NULL));
	}
	app_arg_mem(alone, 0, data);
	CHECK(clEnqueueTask(queue, alone, 1, &events[CHAIN], &task));
	app_count(alone, 1, &one);
	CHECK(clSetUserEventStatus(events[0], CL_COMPLETE));
	CHECK(clWaitForEvents(1, &task));
	CHECK(clFinish(queue));
	for (int i = 1; i <= CHAIN; i++)
		check_event(events[i], CL_COMMAND_NDRANGE_KERNEL);
	for (int i = 0; i <= CHAIN; i++)
		CHECK(clReleaseEvent(events[i]));
	CHECK(clReleaseEvent(task));
	app_digest_buffer(data, N * 4);
	CHECK(clReleaseKernel(chain));
	CHECK(clReleaseKernel(alone));
	CHECK(clReleaseProgram(program));
	CHECK(clReleaseMemObject(data));
	CHECK(clReleaseCommandQueue(queue));
	return app_close();
}
