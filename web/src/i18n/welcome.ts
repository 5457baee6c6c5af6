/** Texts of the area "welcome". The sentences are said to the model as they stand: each also works in offline mode. */
import { area } from './messages'

export const welcome = area(
  {
    title: 'What can I do for you?',
    about:
      'Say it in one sentence. Zeno plans, uses its tools where you can watch it, asks before anything with consequences, and ends in an answer or a finished document.',
    model: 'Model in use: {name}',
    offline:
      'No language model is set up yet. The examples below work all the same, in the built-in offline mode; for everything else a real model makes all the difference.',
    set_up: 'Set up a model',
    examples: 'Examples: choose one, and it runs',
    attached: 'with {file}',
    failed: 'The example file could not be fetched.',
    report: {
      title: 'Weekly report in Word',
      text: 'Summarise sales.csv by channel and write the weekly report in Word with a line chart',
    },
    question: {
      title: 'Ask a table',
      text: 'Which channel sold the most in sales.csv?',
    },
    trend: {
      title: 'Compare over time',
      text: 'Compare Online Store and Retail by week in sales.csv',
    },
    file: {
      title: 'Read a file',
      name: 'meeting-notes.md',
      text: 'What does meeting-notes.md say?',
    },
    sum: {
      title: 'Work something out',
      text: 'How much is 5000 * 1.035^10?',
    },
    code: {
      title: 'Make a QR code',
      text: 'Make a QR code for https://example.com',
    },
    note: {
      title: 'Write a file',
      text: 'Create todo.md with the content: call the printer, book the room, send the invitations',
    },
    abilities: {
      title: 'Look around',
      text: 'What can you do?',
    },
  },
  {
    title: '需要做什么？',
    about: '用一句话说出来就行。Zeno 会自己规划、当着你的面调用工具，遇到有后果的操作先征求同意，最后给出回答或做好的文档。',
    model: '当前模型：{name}',
    offline: '还没有配置语言模型。下面的示例在内置的离线模式下同样可以运行；其他任务换上真正的模型，效果会好得多。',
    set_up: '配置模型',
    examples: '示例：点一下就开始',
    attached: '附带 {file}',
    failed: '示例文件没有取到。',
    report: {
      title: '生成 Word 周报',
      text: '把 sales.csv 按渠道汇总，生成带折线图的 Word 周报',
    },
    question: {
      title: '向表格提问',
      text: 'sales.csv 里哪个渠道卖得最多？',
    },
    trend: {
      title: '看走势',
      text: 'sales.csv 里各产品每周的销售额走势如何？',
    },
    file: {
      title: '读文件',
      name: '会议纪要.md',
      text: '会议纪要.md 里写了什么？',
    },
    sum: {
      title: '算一算',
      text: '5000 * 1.035^10 等于多少？',
    },
    code: {
      title: '生成二维码',
      text: '生成 https://example.com 的二维码',
    },
    note: {
      title: '写文件',
      text: '新建 todo.md，内容：联系印刷厂，订会议室，发邀请函',
    },
    abilities: {
      title: '了解一下',
      text: '你能做什么？',
    },
  },
)
