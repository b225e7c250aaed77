/* SPDX-License-Identifier: Apache-2.0 */
/* Empty function tables for tools, which the loader requires from each driver. */
#include <level_zero/zes_ddi.h>
#include <level_zero/zet_ddi.h>

#define EMPTY_OF(group, Name, name) \
	__attribute__((visibility("default"))) ze_result_t ZE_APICALL group##Get##Name##ProcAddrTable( \
		ze_api_version_t version, group##_##name##_dditable_t *t) \
	{ \
		*t = (group##_##name##_dditable_t){ NULL }; \
		return ZE_RESULT_SUCCESS; \
	}
#define EMPTY(Name, name) EMPTY_OF(zet, Name, name)
#define EMPTY_SYSMAN(Name, name) EMPTY_OF(zes, Name, name)

EMPTY(Device, device)
EMPTY(Context, context)
EMPTY(CommandList, command_list)
EMPTY(Module, module)
EMPTY(Kernel, kernel)
EMPTY(MetricGroup, metric_group)
EMPTY(MetricGroupExp, metric_group_exp)
EMPTY(Metric, metric)
EMPTY(MetricStreamer, metric_streamer)
EMPTY(MetricQueryPool, metric_query_pool)
EMPTY(MetricQuery, metric_query)
EMPTY(TracerExp, tracer_exp)
EMPTY(Debug, debug)

EMPTY_SYSMAN(Driver, driver)
EMPTY_SYSMAN(Device, device)
EMPTY_SYSMAN(Scheduler, scheduler)
EMPTY_SYSMAN(PerformanceFactor, performance_factor)
EMPTY_SYSMAN(Power, power)
EMPTY_SYSMAN(Frequency, frequency)
EMPTY_SYSMAN(Engine, engine)
EMPTY_SYSMAN(Standby, standby)
EMPTY_SYSMAN(Firmware, firmware)
EMPTY_SYSMAN(Memory, memory)
EMPTY_SYSMAN(FabricPort, fabric_port)
EMPTY_SYSMAN(Temperature, temperature)
EMPTY_SYSMAN(Psu, psu)
EMPTY_SYSMAN(Fan, fan)
EMPTY_SYSMAN(Led, led)
EMPTY_SYSMAN(Ras, ras)
EMPTY_SYSMAN(Diagnostics, diagnostics)
