import { Global, Module } from '@nestjs/common';
import { KillSwitch } from './kill-switch.js';
import { KillSwitchGuard } from './kill-switch.guard.js';

@Global()
@Module({ providers: [KillSwitch, KillSwitchGuard], exports: [KillSwitch, KillSwitchGuard] })
export class KillSwitchModule {}
