import { Module } from '@nestjs/common';
import { AuthModule } from '../../domain/auth/index.js';
import { PagesModule } from '../layout/index.js';
import { DesktopHandoffController, WebHandoffController } from './desktop-handoff.controller.js';
import { Handoff } from './handoff.service.js';
import { SingleSignOnController } from './single-sign-on.js';
import { Targets } from './targets.js';

/** The handoff to desktop apps and web editors: a page signs the user in and returns to the client with a one-time token. */
@Module({
  imports: [AuthModule, PagesModule],
  controllers: [DesktopHandoffController, WebHandoffController, SingleSignOnController],
  providers: [Handoff, Targets],
})
export class SignInPagesModule {}
