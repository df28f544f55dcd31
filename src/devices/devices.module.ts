import { Module } from '@nestjs/common';
import { WorkspacesModule } from '../workspaces/index.js';
import { DevicesController } from './devices.controller.js';
import { Devices } from './devices.service.js';

@Module({
  imports: [WorkspacesModule],
  controllers: [DevicesController],
  providers: [Devices],
  exports: [Devices],
})
export class DevicesModule {}
