#!/bin/sh
# Makes the three clips of the demo page with ffmpeg: forty seconds each of one landscape in three lights.
# Each shows the second it is at, so that a glance tells whether a device resumed where the other stopped,
# and a pulse per second, which is also heard.
# The clips are kept in the repository; this is only needed to change them. The font is the system's sans.
#
#   web-demo/make-clip.sh [FOLDER]      (default: the folder of this script)
set -eu

folder=${1:-$(dirname "$0")}
size=640x360
wide=1280x360      # a layer is two pictures wide and repeats every 640 px, so it can scroll without a seam
seconds=40

# layer COLOUR "HEIGHT OF ITS EDGE, in X and period 640" -> a still of a hill range with a soft edge
layer() {
    echo "color=0x$1:s=$wide:d=0.04,format=rgba,geq=r='r(X,Y)':g='g(X,Y)':b='b(X,Y)':a='clip((Y-($2))*128,0,255)'"
}

# sky TOP BOTTOM -> a still of a vertical gradient
sky() {
    echo "gradients=s=$size:c0=0x$1:c1=0x$2:x0=0:y0=0:x1=0:y1=330:n=2:d=0.04,format=rgba"
}

# clip NAME  SKY1 SKY2 SKY3 (each top:bottom)  FAR MIDDLE NEAR  SUN  "HEIGHT OF THE SUN, in t"  PHASE OF THE HILLS
clip() {
    name=$1 sun=$8 height=$9 phase=${10}
    # waves of different length make a ridge; 2*PI/640 = 0.0098175
    far="196+22*sin(X*0.0098175*2+$phase)+11*sin(X*0.0098175*5)+4*sin(X*0.0098175*13)"
    middle="238+20*sin(X*0.0098175*1+3*$phase)+12*sin(X*0.0098175*3+2)+3*sin(X*0.0098175*11)"
    near="296+15*sin(X*0.0098175*2+2*$phase)+8*sin(X*0.0098175*7+1)"
    # one pulse each 160 px, scrolled by 160 px a second: P, Q, R, S and T as bells
    pulse="324-4*exp(-pow((mod(X,160)-44)/7,2))+6*exp(-pow((mod(X,160)-68)/3,2))-38*exp(-pow((mod(X,160)-76)/3.4,2))"
    pulse="$pulse+12*exp(-pow((mod(X,160)-85)/3.2,2))-7*exp(-pow((mod(X,160)-114)/10,2))"

    ffmpeg -hide_banner -loglevel error -y \
        -f lavfi -i "$(sky "${2%:*}" "${2#*:}")" \
        -f lavfi -i "$(sky "${3%:*}" "${3#*:}")" \
        -f lavfi -i "$(sky "${4%:*}" "${4#*:}")" \
        -f lavfi -i "color=0x$sun:s=240x240:d=0.04,format=rgba,geq=r='r(X,Y)':g='g(X,Y)':b='b(X,Y)':a='255*clip(34-hypot(X-120,Y-120),0,1)+70*exp(-pow(max(0,hypot(X-120,Y-120)-34)/28,1.2))*gte(hypot(X-120,Y-120),33.5)'" \
        -f lavfi -i "$(layer "$5" "$far")" \
        -f lavfi -i "$(layer "$6" "$middle")" \
        -f lavfi -i "$(layer "$7" "$near")" \
        -f lavfi -i "color=white:s=$wide:d=0.04,format=rgba,geq=r=255:g=255:b=255:a='210*clip(1.6-abs(Y-($pulse))/(1+abs(($(echo "$pulse" | sed 's/mod(X,160)/mod(X+1,160)/g'))-($pulse)))*1.1,0,1)'" \
        -f lavfi -i "aevalsrc='0.55*(sin(2*PI*58*t)*exp(-16*mod(t,1))+0.6*sin(2*PI*50*t)*exp(-18*mod(t+0.72,1)))+0.05*(sin(2*PI*220*t)+sin(2*PI*277.2*t)+sin(2*PI*329.6*t))*(0.6+0.4*sin(2*PI*t/8))':s=48000:d=$seconds" \
        -filter_complex "
            [0]loop=-1:1,fps=24[a]; [1]loop=-1:1,fps=24,fade=in:st=4:d=14:alpha=1[b]; [2]loop=-1:1,fps=24,fade=in:st=22:d=14:alpha=1[c];
            [3]loop=-1:1,fps=24[sun]; [4]loop=-1:1,fps=24[far]; [5]loop=-1:1,fps=24[middle]; [6]loop=-1:1,fps=24[near]; [7]loop=-1:1,fps=24[pulse];
            [a][b]overlay[ab]; [ab][c]overlay[sky];
            [sky][sun]overlay=x='-150+t*19':y='$height'[s1];
            [s1][far]overlay=x='-mod(t*6,640)'[s2]; [s2][middle]overlay=x='-mod(t*16,640)'[s3];
            [s3][near]overlay=x='-mod(t*40,640)'[s4]; [s4][pulse]overlay=x='-mod(t,1)*160'[s5];
            [s5]drawtext=font=sans:text='0\:%{eif\:mod(t\,60)\:d\:2}':fontsize=84:fontcolor=white@0.94:x=36:y=30,
                drawtext=font=sans:text='$name':fontsize=20:fontcolor=white@0.8:x=42:y=122,format=yuv420p[v]" \
        -map '[v]' -map 8:a -t "$seconds" \
        -c:v libvpx-vp9 -b:v 0 -crf 40 -deadline good -cpu-used 2 -row-mt 1 -g 120 \
        -c:a libopus -ac 1 -b:a 24k -map_metadata -1 -fflags +bitexact -flags:v +bitexact -flags:a +bitexact \
        "$folder/$name.webm"
}

#     name   sky, three times of the day                 far    middle near   sun     its height                phase
clip  dawn   2b2d55:c0738a  6f8fc0:f2c6a0  3f7fb5:cfe6ee  7d7ba6 4f5a86 262f52 ffe9c9  '128-150*sin(PI*t/84)'     1
clip  noon   1f8f9e:a5dfd2  2a7fc4:d5f0f5  4a62a8:f6cfa8  5ea39a 2f7a78 134a50 fff6da  '100-130*sin(PI*(t+2)/44)'  2.3
clip  dusk   d9664e:f7c873  7a3b6d:ee8a62  10142f:4a2f66  9a5470 5d3460 241a3c ffe0a3  '0+170*pow(t/40,1.6)'       4.1
