import { Module } from '@nestjs/common';
import { AssetsModule } from '../assets/index.js';
import { FilesModule } from '../files/index.js';
import { UsageController } from './usage.controller.js';

@Module({ imports: [AssetsModule, FilesModule], controllers: [UsageController] })
export class UsageModule {}
