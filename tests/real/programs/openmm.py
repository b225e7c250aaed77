# SPDX-License-Identifier: Apache-2.0
"""OpenMM: simulates 500 atoms of argon for 100 steps on its OpenCL platform; prints a digest of their positions."""
import hashlib

import numpy as np
import openmm
from openmm import unit

N, EDGE = 500, 3.0
system = openmm.System()
system.setDefaultPeriodicBoxVectors((EDGE, 0, 0), (0, EDGE, 0), (0, 0, EDGE))
force = openmm.NonbondedForce()
force.setNonbondedMethod(openmm.NonbondedForce.CutoffPeriodic)
force.setCutoffDistance(1.0)
for _ in range(N):
    system.addParticle(39.9)
    force.addParticle(0.0, 0.34, 0.996)
system.addForce(force)
grid = np.array([(i, j, k) for i in range(8) for j in range(8) for k in range(8)][:N]) * (EDGE / 8) + 0.1
context = openmm.Context(system, openmm.VerletIntegrator(0.002), openmm.Platform.getPlatformByName("OpenCL"))
context.setPositions(grid * unit.nanometer)
context.setVelocitiesToTemperature(120, 5)
context.getIntegrator().step(100)
where = context.getState(getPositions=True).getPositions(asNumpy=True).value_in_unit(unit.nanometer)
print(hashlib.sha256(np.ascontiguousarray(where).tobytes()).hexdigest()[:16])
