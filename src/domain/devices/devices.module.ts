import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { WorkspacesModule } from '../workspaces/index.js';
import { Device } from './device.entity.js';
import { DevicesController } from './devices.controller.js';
import { Devices } from './devices.service.js';

@Module({
  imports: [WorkspacesModule, TypeOrmModule.forFeature([Device])],
  controllers: [DevicesController],
  providers: [Devices],
  exports: [Devices],
})
export class DevicesModule {}
