export { KillSwitch, KillSwitchGuard, KillSwitchModule, OpenWhenReadOnly } from './kill-switch.js';
export { type Mode, MODES } from './kill-switch.entity.js';
