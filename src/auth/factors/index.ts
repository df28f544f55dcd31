export { FactorActions } from './factor-actions.js';
export { factorPlugin } from './factor-plugin.js';
export { isPending, waitForCode } from './factor-sign-in.js';
export { factorStatements, pendingSignInStatements } from './factor.queries.js';
export { PendingSignIns } from './pending-sign-ins.js';
export { type Actor, type EnteredCode, SecondFactors } from './second-factors.js';
