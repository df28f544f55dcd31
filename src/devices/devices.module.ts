import { Module } from '@nestjs/common';
import { WorkspacesModule } from '../workspaces/index.js';
import { DevicesController } from './devices.controller.js';
import { Devices } from './devices.service.js';
import { OwedUnsubscriptions } from './owed-unsubscriptions.js';

@Module({
  imports: [WorkspacesModule],
  controllers: [DevicesController],
  providers: [Devices, OwedUnsubscriptions],
  exports: [Devices, OwedUnsubscriptions],
})
export class DevicesModule {}
