import { Module } from '@nestjs/common';
import { Push } from './push.service.js';
import { SyncController } from './sync.controller.js';
import { Sync } from './sync.service.js';

@Module({ controllers: [SyncController], providers: [Push, Sync] })
export class SyncModule {}
