export { KillSwitchGuard, OpenWhenReadOnly } from './kill-switch.guard.js';
export { KillSwitchModule } from './kill-switch.module.js';
export { KillSwitch, type Mode, MODES } from './kill-switch.js';
