export { FactorActions } from './factor-actions.js';
export { factorPlugin, isPending, waitForCode } from './factor-plugin.js';
export { endPendingSignIns, PendingSignIns } from './pending-sign-ins.js';
export { type Actor, type EnteredCode, SecondFactor, SecondFactors } from './second-factors.js';
