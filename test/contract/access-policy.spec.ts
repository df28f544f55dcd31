import 'reflect-metadata';
import { Controller, Get, Module } from '@nestjs/common';
import { DiscoveryModule, NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { AccessCheck } from '../../src/auth/access-check.js';
import { Public, Scopes } from '../../src/auth/index.js';

@Controller('guarded')
class Guarded {
  @Get()
  @Scopes('documents:read')
  read(): string {
    return 'guarded';
  }
}

@Controller('open')
@Public('this test')
class OpenByDeclaration {
  @Get()
  read(): string {
    return 'open';
  }
}

@Controller('forgotten')
class Forgotten {
  @Get()
  @Scopes('documents:read')
  remembered(): string {
    return 'guarded';
  }

  @Get('hole')
  hole(): string {
    return 'a hole';
  }
}

async function boot(...controllers: (new () => unknown)[]): Promise<void> {
  class TestModule {}
  Module({ imports: [DiscoveryModule], controllers, providers: [AccessCheck] })(TestModule);
  const app = await NestFactory.create(TestModule, new FastifyAdapter(), {
    logger: false,
    abortOnError: false,
  });
  try {
    await app.init();
  } finally {
    await app.close();
  }
}

describe('the access policy of a route', () => {
  it('may be declared on the handler or its controller', async () => {
    await expect(boot(Guarded, OpenByDeclaration)).resolves.toBeUndefined();
  });

  it('is missing on one handler: the boot stops and names it', async () => {
    await expect(boot(Guarded, Forgotten)).rejects.toThrow('Routes without an access policy: Forgotten.hole');
  });
});
