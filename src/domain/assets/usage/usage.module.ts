import { Module } from '@nestjs/common';
import { AssetsModule } from '../index.js';
import { FilesModule } from '../../files/index.js';
import { WorkspacesModule } from '../../workspaces/index.js';
import { UsageController } from './usage.controller.js';

@Module({ imports: [AssetsModule, FilesModule, WorkspacesModule], controllers: [UsageController] })
export class UsageModule {}
