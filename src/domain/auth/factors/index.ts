export { FactorActions } from './factor-actions.js';
export { factorPlugin } from './factor-plugin.js';
export { isPending, waitForCode } from './factor-sign-in.js';
export { endPendingSignIns, PendingSignIns } from './pending-sign-ins.js';
export { SecondFactor } from './second-factor.entity.js';
export { type Actor, type EnteredCode, SecondFactors } from './second-factors.js';
