import { Module } from '@nestjs/common';
import { DevicesController } from './devices.controller.js';
import { Devices } from './devices.service.js';

@Module({ controllers: [DevicesController], providers: [Devices], exports: [Devices] })
export class DevicesModule {}
