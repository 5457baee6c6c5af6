/** What ECharts is told to draw of a plot. Pure: colours and the writing of numbers come from outside. */
import type { EChartsCoreOption } from 'echarts/core'

import type { Plot } from './documentCharts'

export interface Look {
  /** What it shows, for those who do not see it. */
  summary: string
  ink: string
  dim: string
  line: string
  ground: string
  series: string[]
  /** Families as a canvas knows them: what is to be drawn is measured with it, and it knows no `inherit`. */
  font: string
  moving: boolean
  /** Pixels that there are from side to side. */
  width: number
}

const MARKS = ['circle', 'rect', 'diamond', 'triangle'] as const
const DASHES = ['solid', 'dashed', 'dotted'] as const
/** Pixels of a chart that is small, of what stands left of the bars, and of a label that can be read. */
const NARROW = 480
const BESIDE = 70
const LEAST = 34
/** Where there is room for some of the categories only, the last is named, and within the picture. */
const LAST = { hideOverlap: true, showMaxLabel: true, alignMaxLabel: 'right' } as const
const MOST_MARKS = 40
const MOST_BARS_NAMED = 14

export function chartOption(plot: Plot, look: Look, written: (value: number) => string): EChartsCoreOption {
  const text = { color: look.ink, fontFamily: look.font, fontSize: 12 }
  const shared = {
    animation: look.moving,
    animationDuration: 300,
    color: look.series,
    textStyle: text,
    // Patterns for those who cannot tell the colours apart.
    aria: {
      enabled: true,
      label: { description: look.summary },
      decal: { show: plot.kind !== 'line' && (plot.kind === 'pie' || plot.series.length > 1) },
    },
    tooltip: {
      trigger: plot.kind === 'pie' ? 'item' : 'axis',
      renderMode: 'richText',
      confine: true,
      backgroundColor: look.ground,
      borderColor: look.line,
      textStyle: text,
      valueFormatter: (value: unknown) => (typeof value === 'number' ? written(value) : '—'),
    },
    legend: {
      show: plot.kind === 'pie' || plot.series.length > 1,
      type: 'scroll',
      bottom: 0,
      textStyle: text,
      pageTextStyle: text,
      pageIconColor: look.ink,
      pageIconInactiveColor: look.line,
      icon: 'roundRect',
      itemWidth: 14,
      itemHeight: 10,
    },
  }
  return plot.kind === 'pie' ? { ...shared, series: [pie(plot, look)] } : { ...shared, ...axes(plot, look, written) }
}

function pie(plot: Plot, look: Look): object {
  const values = plot.series[0]?.values ?? []
  return {
    type: 'pie',
    radius: ['0%', '62%'],
    center: ['50%', '45%'],
    data: plot.categories.map((name, place) => ({ name, value: values[place] })),
    itemStyle: { borderColor: look.ground, borderWidth: 1 },
    label: { color: look.ink, formatter: look.width < NARROW ? '{d}%' : '{b}: {d}%', textBorderColor: 'transparent' },
  }
}

function axes(plot: Plot, look: Look, written: (value: number) => string): EChartsCoreOption {
  const legend = plot.series.length > 1 ? 32 : 8
  const named = plot.series.length === 1 && plot.categories.length <= MOST_BARS_NAMED && look.width >= NARROW
  const axis = { axisLabel: { color: look.dim }, axisTick: { show: false } }
  return {
    grid: { left: 8, right: 16, top: 24, bottom: legend, containLabel: true },
    xAxis: {
      type: 'category',
      data: plot.categories,
      ...axis,
      axisLabel: { color: look.dim, ...labels(plot, look) },
      axisLine: { lineStyle: { color: look.dim } },
    },
    yAxis: {
      type: 'value',
      scale: plot.kind === 'line',
      ...axis,
      axisLabel: { color: look.dim, formatter: written },
      splitLine: { lineStyle: { color: look.line } },
    },
    series: plot.series.map(({ name, values }, place) => ({
      type: plot.kind,
      name,
      data: values,
      connectNulls: false,
      symbol: plot.categories.length > MOST_MARKS ? 'none' : MARKS[place % MARKS.length],
      symbolSize: 7,
      barMaxWidth: 48,
      lineStyle: { width: 2.25, type: DASHES[Math.floor(place / look.series.length) % DASHES.length] },
      label: {
        show: plot.kind === 'bar' && named,
        position: 'top',
        color: look.ink,
        formatter: label(written),
        textBorderColor: 'transparent',
      },
    })),
  }
}

/** Each category is named as long as there is room for it, in several lines if need be. */
function labels(plot: Plot, look: Look): object {
  const room = Math.floor((look.width - BESIDE) / plot.categories.length) - 6
  return room >= LEAST ? { interval: 0, width: room, overflow: 'break' } : LAST
}

function label(written: (value: number) => string): (point: { value: unknown }) => string {
  return ({ value }) => (typeof value === 'number' ? written(value) : '')
}
