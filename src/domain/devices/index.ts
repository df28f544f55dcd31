import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { WorkspacesModule } from '../workspaces/index.js';
import { DevicesController } from './devices.controller.js';
import { Device, Devices } from './devices.service.js';

export { Device, DEVICE_ID, DEVICE_ID_RULE, deviceIdOf, Devices, isDeviceId } from './devices.service.js';

@Module({
  imports: [WorkspacesModule, TypeOrmModule.forFeature([Device])],
  controllers: [DevicesController],
  providers: [Devices],
  exports: [Devices],
})
export class DevicesModule {}
