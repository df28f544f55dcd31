export {
  KillSwitch,
  KillSwitchGuard,
  KillSwitchModule,
  type Mode,
  MODES,
  OpenWhenReadOnly,
} from './kill-switch.js';
